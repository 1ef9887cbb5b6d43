"""Tables drawn with bars whose header spans columns, as GuideLLM prints them, in any order of columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RULE = re.compile(r"^[\s|=+\-:━─┼╇]*$")
# Bounds that no printed table reaches.
_MOST_COLUMNS, _MOST_HEADERS, _MOST_ROWS = 64, 6, 200


@dataclass(frozen=True)
class Table:
    """One table: `columns` holds the header words of each column from top to bottom, `rows` the cells."""

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, *words: str) -> int | None:
        """Place of the first column whose header holds all the words, ignoring case."""
        for place, header in enumerate(self.columns):
            whole = " ".join(header).lower()
            if all(word.lower() in whole for word in words):
                return place
        return None

    def cell(self, row: Sequence[str], *words: str) -> str | None:
        """The cell of a row under that header, None where there is no such column."""
        place = self.column(*words)
        return row[place] if place is not None and place < len(row) else None

    def header(self, *words: str) -> str:
        """The header words of that column in one text, empty where there is none."""
        place = self.column(*words)
        return " ".join(self.columns[place]) if place is not None else ""


def tables(lines: Sequence[str]) -> list[Table]:
    """Every table in the text: header lines, a rule of dashes, rows, until a rule or a line without bars."""
    found: list[Table] = []
    header: list[list[str]] = []
    rows: list[tuple[str, ...]] = []
    columns: tuple[tuple[str, ...], ...] = ()
    for line in [*lines, ""]:
        bars = "|" in line
        if bars and not _RULE.match(line):
            if columns and len(rows) < _MOST_ROWS:
                rows.append(tuple(cell.strip() for cell in _cells(line)))
            elif not columns:
                header = [*header[1 - _MOST_HEADERS :], _spread(_cells(line))]
        elif "-" in line and bars and header:
            columns = _columns(header)
            header = []
        else:
            if columns and rows:
                found.append(Table(columns, tuple(rows)))
            header, rows, columns = [], [], ()
    return found


def _cells(line: str) -> list[str]:
    line = line.strip()
    # A leading bar means that the table is boxed and ends in one bar of its own; `||` elsewhere spans columns.
    cells = line[1:].removesuffix("|").split("|") if line.startswith("|") else line.split("|")
    return cells[:_MOST_COLUMNS]


def _spread(cells: Sequence[str]) -> list[str]:
    """Header words, those of a spanning cell repeated over the empty cells that follow it."""
    spread: list[str] = []
    for cell in cells:
        spread.append(cell.strip() or (spread[-1] if spread and cell == "" else ""))
    return spread


def _columns(header: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    width = max(len(line) for line in header)
    return tuple(tuple(line[place] for line in header if place < len(line) and line[place]) for place in range(width))
