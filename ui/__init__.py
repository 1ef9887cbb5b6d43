"""What the pages share: navigation, the form, arrival of links, charts, and how answers are shown."""
