"""The command line: JSON on standard output; one line on standard error and exit status 2 for bad input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from planner.errors import PlannerError
from planner.terminal import OutputError, argument_text, drop, print_json, read_bytes, read_text, say, write


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlannerError(f"{message}. See `{self.prog} --help`.")

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message)  # the help


def _inspect(options: argparse.Namespace) -> int:
    from planner.architecture import read_config
    from planner.inspect import inspect

    beside = read_text(options.hf_quant_config) if options.hf_quant_config is not None else None
    many = len(options.files) > 1
    failed = False
    for file in options.files:
        try:
            name = Path(file).stem if file != "-" else None
            answer = inspect(read_config(read_text(file), name=name, hf_quant_config=beside))
            print_json({"file": file, **answer} if many else answer, None if many else 1)
        except PlannerError as error:
            if not many:
                raise
            failed = True
            print_json({"file": file, "error": str(error)}, None)
    if failed:
        say("Some files could not be read as models; see their `error`.")
    return 2 if failed else 0


def _devices(_: argparse.Namespace) -> int:
    from planner.devices import load_devices

    print_json([_device(d) for d in load_devices()])
    return 0


def _device(d: Any) -> dict[str, Any]:
    return {
        "id": d.id, "name": d.name, "label": d.label, "vendor": d.vendor, "kind": d.kind, "year": d.year,
        "memory_bytes_usable": d.memory_bytes_usable, "memory_derived": d.memory_derived,
        "bandwidth_bytes_per_s": d.bandwidth, "flop_per_s": dict(d.peaks), "tdp_w": d.tdp_w,
        "price_usd_per_hour": d.price_usd_per_hour, "price_date": d.price_date, "confidence": d.confidence,
        "source": d.source, "notes": d.notes,
    }  # fmt: skip


def _scenario(options: argparse.Namespace) -> tuple[Any, list[str]]:
    """The scenario that the flags, a link or a scenario file describe, and notes about it."""
    from planner.scenario import CUSTOM, DEFAULTS, Scenario
    from planner.share import read_link, read_scenario_file

    given = {name: getattr(options, name) for name in DEFAULTS if name != "config"}
    flags = {name: value for name, value in given.items() if value is not None}
    _refuse_contradictions(options, flags)
    base: Scenario | None = None
    notes: list[str] = []
    if options.link is not None:
        base, notes = read_link(options.link)
    elif options.scenario is not None:
        base, notes = read_scenario_file(read_bytes(options.scenario))
    start = {} if base is None else base.model_dump()
    if options.config is not None:
        from planner.architecture import read_config

        beside = read_text(options.hf_quant_config) if options.hf_quant_config is not None else None
        name = flags.get("model") or (Path(options.config).stem if options.config != "-" else None)
        arch = read_config(read_text(options.config), name=name, hf_quant_config=beside)
        start |= {"config": arch.config, "model": arch.name}
        flags.pop("model", None)
    elif "model" in flags:
        start["config"] = None
    if "rate" in flags or "users" in flags:
        start["load"] = "open" if "rate" in flags else "closed"
    scenario = Scenario.of(**(start | flags))
    typed_in = [f"--{name.replace('_', '-')}" for name in flags if name.startswith("device_")]
    if typed_in and scenario.device != CUSTOM:
        raise PlannerError(f"{typed_in[0]} describes a typed-in device. Give --device custom, or leave it out.")
    if scenario.shared_prefix < flags.get("shared_prefix", 0):
        notes.append(
            f"--shared-prefix {flags['shared_prefix']:g} is cut to {scenario.shared_prefix}: the last token of a "
            "prompt is always computed."
        )
    return scenario, notes


def _refuse_contradictions(options: argparse.Namespace, flags: dict[str, Any]) -> None:
    if options.link == "":
        raise PlannerError("--link is empty; expected a link of the planner, or its query.")
    if options.link is not None and options.scenario is not None:
        raise PlannerError("--link and --scenario exclude each other: both give every choice. Give one, and flags.")
    if options.hf_quant_config is not None and options.config is None:
        raise PlannerError("--hf-quant-config stands beside a config.json. Give that too, with --config.")
    if "rate" in flags and "users" in flags:
        raise PlannerError(
            "--users and --rate exclude each other: conversations at once, or arrivals per second. Give one."
        )
    if {"closed": "rate", "open": "users"}.get(flags.get("load", "")) in flags:
        raise PlannerError("--load closed goes with --users, --load open with --rate. Correct one of the two.")


def _plan(options: argparse.Namespace) -> int:
    from planner.findings import findings
    from planner.plan import plan
    from planner.plan_json import as_dict
    from planner.share import link

    scenario, notes = _scenario(options)
    for note in notes:
        say(note)
    done = plan(scenario)
    print_json(as_dict(done, link(scenario), [f.as_dict() for f in findings(done)]))
    return 0


# Four months: longer than any server runs between two scrapes that are compared.
_LONGEST_SECONDS = 1e7


def _measure(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from planner.measurements import read

    second = read_text(options.second) if options.second is not None else None
    if options.seconds is not None and not 0 < options.seconds <= _LONGEST_SECONDS:
        raise PlannerError(
            f"--seconds {options.seconds:g} is no time between two scrapes; expected more than 0 and at most "
            f"{_LONGEST_SECONDS:g} seconds."
        )
    measured = read(read_text(options.file), second, options.seconds)
    answer = asdict(measured)
    if _scenario_given(options):
        from planner.checking import compare
        from planner.plan import plan

        scenario, notes = _scenario(options)
        for note in notes:
            say(note)
        answer["comparison"] = compare(measured, plan(scenario)).as_dict()
    print_json(answer)
    return 0


def _scenario_given(options: argparse.Namespace) -> bool:
    """Whether any flag describes a scenario, or a part of one."""
    from planner.scenario import DEFAULTS

    names = ("config", "hf_quant_config", "link", "scenario", *DEFAULTS)
    return any(getattr(options, name) is not None for name in names)


def _validate(options: argparse.Namespace) -> int:
    from planner.validate import read_rows, validate

    rows = read_rows(read_text(options.file))
    print_json(validate(rows, options.configs) if options.configs is not None else validate(rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m planner", description="What-if planner for serving large language models.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    inspect = commands.add_parser("inspect", help="what a config.json says about its model")
    inspect.add_argument("files", nargs="+", metavar="CONFIG.json", help='"-" reads standard input')
    inspect.add_argument("--hf-quant-config", metavar="FILE", help="the hf_quant_config.json beside it")
    inspect.set_defaults(run=_inspect)
    commands.add_parser("devices", help="the device table").set_defaults(run=_devices)
    plan = commands.add_parser("plan", help="what a scenario needs and gives")
    _add_scenario(plan)
    plan.set_defaults(run=_plan)
    measure = commands.add_parser("measure", help="what a tool measured; with a scenario, beside what it should")
    measure.add_argument("file", metavar="FILE", help='"-" reads standard input')
    measure.add_argument("second", nargs="?", metavar="SECOND", help="a later scrape of the same server's /metrics")
    measure.add_argument("--seconds", type=float, help="seconds between the two scrapes, where they do not say it")
    _add_scenario(measure)
    measure.set_defaults(run=_measure)
    validate = commands.add_parser("validate", help="predicted beside measured, for each row of a file")
    validate.add_argument("file", metavar="FILE.csv")
    validate.add_argument("--configs", metavar="DIR", help="folder of the configs that rows name")
    validate.set_defaults(run=_validate)
    return parser


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    """The flags that describe a scenario."""
    from planner.scenario import Scenario

    parser.add_argument("--config", metavar="FILE", help='a config.json; "-" reads standard input')
    parser.add_argument("--hf-quant-config", metavar="FILE", help="the hf_quant_config.json beside it")
    link = "a link of the planner, or its query; flags override it"
    parser.add_argument("--link", metavar="URL", type=argument_text, help=link)
    parser.add_argument("--scenario", metavar="FILE", help="a saved scenario; flags override it")
    for name, field in Scenario.model_fields.items():
        if name != "config":
            _add_flag(parser, name, field)


def _add_flag(parser: argparse.ArgumentParser, name: str, field: Any) -> None:
    from planner.scenario import kind

    flag = "--" + name.replace("_", "-")
    if kind(name) is bool:
        either = argparse.BooleanOptionalAction
        parser.add_argument(flag, dest=name, action=either, default=None, help=field.description)
        return
    take = _number(name) if kind(name) in (int, float) else argument_text
    parser.add_argument(flag, dest=name, type=take, default=None, metavar=name.upper(), help=field.description)


def _number(name: str) -> Callable[[str], float]:
    from planner.scenario import expected
    from planner.share import read_number

    def take(text: str) -> float:
        number = read_number(text)
        if number is None:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} found, {expected(name)} expected")
        return number

    return take


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except PlannerError as error:
        say(str(error))
        return 2
    except OutputError as error:
        say(str(error))
        drop(sys.stdout)
        return 1
    except BrokenPipeError:  # the reader has gone, as with `| head`
        drop(sys.stdout)
        return 0
    except OSError as error:
        say(f"{error.filename or 'A file'} cannot be read ({error.strerror}). Check the path.")
        return 2


if __name__ == "__main__":
    sys.exit(main())
