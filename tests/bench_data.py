"""Small benchmarks in the shape of the published ones, and the folder of the real ones where there is one."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

#: The folder that holds the published data; tests that need it are skipped without.
DATA = os.environ.get("TREEWRIGHT_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="TREEWRIGHT_DATA names no folder of benchmark data")

TRADE = [
    {
        "name": "calculate_tariff",
        "signature": "calculate_tariff(price: float, tariff_rate: float) -> float",
        "description": "Tariff.",
    },
    {"name": "find_maximum", "signature": "find_maximum(*args: float) -> float", "description": "Largest."},
]
TRAVEL = [
    {"name": "find_flights", "signature": "find_flights(destination: str, date: str) -> List[Dict]", "description": "Flights."},
    {"name": "book_hotel", "signature": "book_hotel(location: str, *preferences: str) -> List[Dict]", "description": "Hotels."},
    {"name": "max", "signature": "max(*args: float) -> float", "description": "Largest."},
]
WEB = [
    {"name": name, "signature": f"{name}({arguments}) -> str", "description": name}
    for name, arguments in (("click_url", "url: str"), ("go_to_previous_page", ""), ("scroll_down", ""), ("view", ""))
]
FLIGHT = {"from_location": '"E"', "to_location": '"A"', "date": "2023-12-25", "price": 450}
HOTEL = {"location": '"A"', "preferences": ["wifi", "pool"], "price_per_night": 50, "rating": 3}
PAGES = [
    {"name": "/", "content": "Welcome\n- Team [Clickable '/our_team']"},
    {"name": "/our-team", "content": "Ann\nBob\nCid\nDee\nEve\nFay"},
]


def trade_task(name: str, calls: list[dict[str, Any]], expected: Any, kind: str = "float") -> dict[str, Any]:
    return {"task_id": f"trade/{name}", "domain": "trade", "instruction": f"Do {name}.", "expected_output": expected,
            "expected_type": kind, "reference_calls": calls}  # fmt: skip


def tariff(price: float, rate: float, result: float) -> dict[str, Any]:
    return {"tool": "calculate_tariff", "args": [price, rate], "result": result}


def m3_rows() -> dict[str, Any]:
    """Two graded tasks, and one in each other domain that is graded elsewhere."""
    larger = [tariff(100, 5, 5.0), tariff(300, 5, 15.0), {"tool": "find_maximum", "args": [5.0, 15.0], "result": 15.0}]
    elsewhere = [
        {"task_id": f"{domain}/0", "domain": domain, "instruction": f"Ask {domain}.", "graded_elsewhere": True}
        for domain in ("travel_itinerary_planning", "web_browsing")
    ]
    return {
        "toolsets": {"trade": TRADE, "travel_itinerary_planning": TRAVEL, "web_browsing": WEB},
        "tables": {"travel_itinerary_planning": {"flights": [FLIGHT], "hotels": [HOTEL]}},
        "tasks": [
            trade_task("both", [tariff(100, 5, 5.0), tariff(300, 5, 15.0)], [5.0, 15.0], "list"),
            trade_task("larger", larger, 15.0),
            *elsewhere,
        ],
    }


def write_m3(folder: Path, whole: Any = None) -> Path:
    (folder / "m3tooleval").mkdir(exist_ok=True)
    (folder / "m3tooleval/m3tooleval_82.json").write_text(json.dumps(m3_rows() if whole is None else whole))
    (folder / "m3tooleval/web_pages.jsonl").write_text("\n".join(map(json.dumps, PAGES)) + "\n")
    return folder


def api_call(name: str, given: dict[str, Any], output: Any) -> dict[str, Any]:
    whole = {"api_name": name, "input": given, "output": output, "exception": None}
    return {"api_name": name, "input": given, "output": whole}


def api_definition(name: str, takes: dict[str, str]) -> dict[str, Any]:
    parameters = {key: {"type": kind, "description": f"The {key}."} for key, kind in takes.items()}
    found = {"name": name, "description": f"Does {name}.", "input_parameters": parameters,
             "output_parameters": {"found": {"type": "str", "description": "What was found."}}}  # fmt: skip
    return api_call("ToolSearcher", {"keywords": name}, found)


def api_rows() -> list[dict[str, Any]]:
    """Two tasks: where somebody sits and a mail about it; where another one sits."""
    seats = api_definition("FindSeat", {"name": "str", "floor": "int"})
    mails = api_definition("SendMail", {"content": "str", "to": "str"})
    return [
        {
            "requirement": " Find the seat of Ann on floor 2 and mail it to ann@example.com.",
            "response": "Ann sits in Room 7; I sent a mail to ann@example.com.",
            "apis": [
                seats,
                api_call("FindSeat", {"name": "Ann", "floor": "2"}, {"seat": "Room 7", "near": "the lift"}),
                mails,
                api_call("SendMail", {"content": "You sit in Room 7.", "to": "ann@example.com"}, "success"),
            ],
        },
        {
            "requirement": "Find the seat of Bob on floor 3.",
            "response": "Bob sits in Room 9.",
            "apis": [seats, api_call("FindSeat", {"name": "Bob", "floor": 3}, {"seat": "Room 9"})],
        },
    ]


def write_api(folder: Path, rows: Any = None) -> Path:
    (folder / "apibank").mkdir(exist_ok=True)
    (folder / "apibank/level-3.json.gz").write_bytes(gzip.compress(json.dumps(api_rows() if rows is None else rows).encode()))
    return folder
