"""The form's fields, by mouse and by keyboard, and what they write into the address."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import (
    changed,
    choices,
    copied_link,
    enter,
    errors_shown,
    notes,
    pick,
    settled,
    verdict,
    visit,
)


def test_slider_of_users_moves_the_field(app: str, page: Page) -> None:
    """Arrow keys and dragging move the slider, the field and the address; a number between its steps stays a step."""
    visit(page, f"{app}/people?users=21")
    slider, field = page.get_by_role("slider", name="Users at once"), page.get_by_label("Users at once", exact=True)
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    changed(page)
    expect(field).to_have_value("40")
    assert choices(page) == {"users": "40"}
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    changed(page)
    expect(field).to_have_value("21")
    thumb, track = slider.locator("xpath=..").bounding_box(), page.get_by_test_id("stSlider").bounding_box()
    assert thumb and track
    page.mouse.move(thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] - 1, thumb["y"] + thumb["height"] / 2, steps=8)
    page.mouse.up()
    changed(page)
    expect(field).to_have_value("1000000")
    assert choices(page) == {"users": "1000000"}
    assert "of 1,000,000 users fit" in verdict(page)


def test_form_works_by_keyboard_alone(app: str, page: Page) -> None:
    """Tab reaches the fields of the form, arrow keys and Enter change them."""
    visit(page, f"{app}/")
    # The code that draws fields comes when it is first needed; until then there is nothing to reach.
    expect(page.get_by_label("Prompt tokens", exact=True)).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Prompt tokens":
            break
    else:
        raise AssertionError("Tab never reached the field “Prompt tokens”")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    changed(page)
    assert choices(page) == {"prompt": "4352"}


def test_field_may_be_left_empty(app: str, page: Page) -> None:
    """A field with a default of its own can be filled, shows small fractions whole, and is emptied again."""
    visit(page, f"{app}/?max_tpot=0.0125&utilization=0.5")
    page.get_by_text("More settings", exact=True).click()
    expect(page.get_by_label("Limit: time per output token, seconds", exact=True)).to_have_value("0.0125")
    small = verdict(page)
    enter(page, "Share of memory the engine takes", "")
    assert choices(page) == {"max_tpot": "0.0125"} and verdict(page) != small
    enter(page, "Share of memory the engine takes", "0.5")
    assert choices(page)["utilization"] == "0.5" and verdict(page) == small


def test_arrivals_and_users_take_turns(app: str, page: Page) -> None:
    """Switching to arrivals shows their field and its verdict; the number of users is there again on the way back."""
    visit(page, f"{app}/people?users=40")
    page.get_by_text("Arrivals per second", exact=True).click()
    changed(page)
    enter(page, "Requests per second", "50")
    assert choices(page) == {"load": "Arrivals per second", "rate": "50"}
    assert verdict(page).startswith("✕ No steady state: ")
    assert "rate=50" in copied_link(page)
    page.get_by_test_id("stSidebar").get_by_text("Users at once", exact=True).first.click()
    changed(page)
    assert choices(page) == {"users": "40"}
    expect(page.get_by_label("Users at once", exact=True)).to_have_value("40")


def test_device_typed_in_starts_from_the_one_before(app: str, page: Page) -> None:
    """A custom device starts with the figures of the device before, takes others, and travels in the address."""
    visit(page, f"{app}/?device=L40S&model=Llama+3.1+8B")
    expect(page.get_by_label("Memory bandwidth, GB/s", exact=True)).to_have_count(0)
    pick(page, "Device", "custom")
    expect(page.get_by_label("Memory bandwidth, GB/s", exact=True)).to_have_value("864")
    enter(page, "Its name", "Two of ours")
    enter(page, "Memory bandwidth, GB/s", "1500")
    assert choices(page)["device"] == "custom" and choices(page)["device_bandwidth_gb_s"] == "1500"
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="How fast?").click()
    expect(page.get_by_role("heading", level=1, name="How fast?")).to_be_visible()
    changed(page)
    assert "Two of ours" in verdict(page) and choices(page)["device_name"] == "Two of ours"
    pick(page, "Device", "L40S")
    assert choices(page) == {"device": "L40S", "model": "Llama 3.1 8B"}
    assert errors_shown(page) == []


def test_model_typed_in_by_hand(app: str, page: Page) -> None:
    """A model typed in becomes the scenario's model; numbers that make no model are said and change nothing."""
    visit(page, f"{app}/")
    page.get_by_text("Type a model in", exact=True).click()
    changed(page)
    enter(page, "Layers", "16")
    page.get_by_role("button", name="Use this model", exact=True).click()
    changed(page)
    assert any("16 layers" in note for note in notes(page))
    code = choices(page)["config"]
    enter(page, "KV heads", "7")
    page.get_by_role("button", name="Use this model", exact=True).click()
    changed(page)
    assert choices(page)["config"] == code and errors_shown(page) == []
    assert any("The model before stays." in note for note in notes(page))


def leave_for(page: Page, title: str) -> None:
    """Choose a page in the menu, at once."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=title, exact=True)).to_be_visible()
    changed(page)


@pytest.mark.parametrize("number", ["777", "40", "1"])
def test_a_number_typed_and_left_at_once_stays(app: str, page: Page, number: str) -> None:
    """Whoever types a number of users and clicks elsewhere without Enter keeps it, on the page and in the address."""
    visit(page, f"{app}/?users=21")
    field = page.get_by_label("Users at once", exact=True)
    field.fill(number)
    # Streamlit may take the typing or the click last: then the page stays, and the click has to be made again.
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="How fast?", exact=True).click()
    changed(page)
    expect(field).to_have_value(number)
    assert choices(page) == {"users": number} and f"users={number}" in copied_link(page)
    field.fill("300")
    page.get_by_text("Arrivals per second", exact=True).click()
    changed(page)
    page.get_by_test_id("stSidebar").get_by_text("Users at once", exact=True).first.click()
    changed(page)
    expect(field).to_have_value("300")
    assert choices(page) == {"users": "300"}


@pytest.mark.parametrize("pause_ms", [250, 500])
def test_a_slider_moved_and_left_at_once_stays(app: str, page: Page, pause_ms: int) -> None:
    """Whoever moves the slider and goes to another page while it is on its way finds the field where it was moved."""
    visit(page, f"{app}/?users=21")
    page.get_by_role("slider", name="Users at once").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(pause_ms)
    leave_for(page, "How fast?")
    expect(page.get_by_label("Users at once", exact=True)).to_have_value("40")
    page.wait_for_function("location.search === '?users=40'")
    settled(page)
    assert choices(page) == {"users": "40"} and "users=40" in copied_link(page)


def test_a_choice_made_by_code_can_be_taken_back(app: str, page: Page) -> None:
    """A button's change can be undone by hand soon after, by typing the number that was there before."""
    visit(page, f"{app}/?users=21&model=Qwen3+32B")
    page.get_by_role("slider", name="Users at once").focus()
    page.keyboard.press("ArrowRight")
    changed(page)
    page.wait_for_timeout(2000)
    enter(page, "Users at once", "21")
    assert choices(page)["users"] == "21"


def test_a_scenario_file_is_in_the_address_at_once(app: str, page: Page) -> None:
    """What a file sets is in the address, fields that were not on the page before included, and survives a reload."""
    custom = {
        "device": "custom", "device_name": "Ours", "device_memory_gib": 99.0, "device_bandwidth_gb_s": 1234.0,
        "device_tflops": 321.0,
    }  # fmt: skip
    for scenario in ({"load": "open", "rate": 86.5}, {"load": "closed", "users": 77}, custom):
        visit(page, f"{app}/people")
        page.get_by_text("Load a scenario", exact=True).click()
        page.locator('input[type="file"]').set_input_files(
            {"name": "s.json", "mimeType": "application/json", "buffer": json.dumps({"scenario": scenario}).encode()}
        )
        changed(page)
        said, link = verdict(page), copied_link(page)
        page.reload()
        page.get_by_role("heading", level=1).wait_for()
        changed(page)
        assert verdict(page) == said and copied_link(page) == link
        expected = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in scenario.items()}
        expected.pop("load", None)
        assert expected.items() <= choices(page).items()


def test_a_file_is_one_step_of_the_history(app: str, page: Page) -> None:
    """One step back undoes a loaded file as a whole: no half of a device in between."""
    visit(page, f"{app}/people?users=21")
    before = copied_link(page)
    custom = {"device": "custom", "device_memory_gib": 99.0, "device_bandwidth_gb_s": 1234.0, "device_tflops": 321.0}
    page.get_by_text("Load a scenario", exact=True).click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "s.json", "mimeType": "application/json", "buffer": json.dumps({"scenario": custom}).encode()}
    )
    changed(page)
    assert choices(page)["device_tflops"] == "321"
    page.go_back()
    changed(page)
    assert copied_link(page) == before and choices(page) == {"users": "21"}


def test_a_slider_step_can_be_taken_back_by_hand(app: str, page: Page) -> None:
    """A step of the slider is undone by the field's own button right after it is drawn."""
    visit(page, f"{app}/?users=19")
    page.get_by_role("slider", name="Users at once").focus()
    page.keyboard.press("ArrowRight")
    field = page.get_by_label("Users at once", exact=True)
    expect(field).to_have_value("20")
    changed(page)
    page.wait_for_timeout(300)
    field.press("ArrowDown")
    field.press("Enter")
    changed(page)
    expect(field).to_have_value("19")
    assert choices(page) == {"users": "19"}
