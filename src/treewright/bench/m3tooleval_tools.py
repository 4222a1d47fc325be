"""The 30 tools of M3ToolEval (Wang et al., "Executable Code Actions Elicit Better LLM Agents", ICML 2024, appendix).

What they do follows from their published signatures, descriptions and tables and from recorded calls; the implementations are
our own. Names that Python has itself (`max`, `min`, `sum`) get an underscore, so that a program still has Python's.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from treewright.bench.calculator import Number, calculate
from treewright.bench.local_tools import Function, LocalToolbox
from treewright.bench.pages import Browser
from treewright.tools.base import Card
from treewright.tools.names import tool_name

Json = Mapping[str, Any]
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}
_DNA_TO_MRNA = str.maketrans("ACGT", "UGCA")
_MRNA_TO_DNA = str.maketrans("UGCA", "ACGT")
#: The only codons that the benchmark's own tool knows.
_CODONS = {"AUG": "Methionine", "UUU": "Phenylalanine", "UUC": "Phenylalanine"}
#: Published without its first parameter and with another name for the second; the description has it right.
_SIGNATURES = {"find_flights": "find_flights(from_location: str, to_location: str, date: str) -> List[Dict]"}


def toolbox_of(domain: str, tools: Sequence[Json], tables: Json, pages: Mapping[str, str]) -> LocalToolbox:
    """The toolbox of one domain.

    Args:
        domain: such as "web_browsing".
        tools: name, signature and description of each.
        tables: flights and hotels.
        pages: path -> text.

    Raises:
        KeyError: there is no such tool or table.
        SyntaxError: a signature is none.
    """
    browsing = domain == "web_browsing"
    cards = tuple(card_of(tool, stateful=browsing) for tool in tools)

    def functions() -> dict[str, Function]:
        known = dict(_FUNCTIONS)
        if domain == "travel_itinerary_planning":
            own = tables[domain]
            known |= {"find_flights": partial(find_flights, own["flights"]), "book_hotel": partial(book_hotel, own["hotels"])}
        if browsing:
            browser = Browser(pages)
            known |= {name: getattr(browser, name) for name in _BROWSER}
        return {card.name: known[tool["name"]] for card, tool in zip(cards, tools, strict=True)}

    functions()  # an unknown tool is better known now than in the middle of a task
    return LocalToolbox(cards, functions)


def card_of(tool: Json, *, stateful: bool = False) -> Card:
    """The card of a tool from its published signature. `*args` becomes one list: a call names its arguments.

    Raises:
        SyntaxError: the signature is none.
    """
    head = ast.parse(f"def {_SIGNATURES.get(tool['name'], tool['signature'])}: ...").body[0]
    assert isinstance(head, ast.FunctionDef)
    properties = {argument.arg: _schema(argument.annotation) for argument in head.args.args}
    required = list(properties)
    if head.args.vararg is not None:
        items = {"type": "array", "items": _schema(head.args.vararg.annotation), "description": "All of them, in one list."}
        required += [] if properties else [head.args.vararg.arg]
        properties[head.args.vararg.arg] = items
        if not required.count(head.args.vararg.arg):
            items["default"] = []
    stays = stateful and tool["name"] in _BROWSER
    return Card(
        name=tool_name(tool["name"]),
        description=tool["description"].strip(),
        parameters={"type": "object", "properties": properties, "required": required},
        returns=_schema(head.returns) or None,
        effect="idempotent" if stays else "pure",
        source="m3tooleval",
        stateful=stays,
    )


def _schema(annotation: ast.expr | None) -> dict[str, Any]:
    match annotation:
        case ast.Name(id=name) if name in _TYPES:
            return {"type": _TYPES[name]}
        case ast.Subscript(value=ast.Name(id="List")):
            return {"type": "array", "items": {"type": "object"}}
        case ast.Tuple():
            return {"type": "array"}
        case ast.BinOp(op=ast.Div()):  # "int/float"
            return {"type": "number"}
    return {}


def convert_currency(base_price: Number, conversion_rate: Number) -> Number:
    """Price in local currency."""
    return base_price * conversion_rate


def calculate_tariff(price: Number, tariff_rate: Number) -> Number:
    """The tariff; the rate is in percent."""
    return price * tariff_rate / 100


def estimate_final_value(price: Number, tariff: Number) -> Number:
    """Price and tariff together."""
    return price + tariff


def budget_calculator(flight_price: Number, hotel_price_per_night: Number, num_nights: int) -> Number:
    """What a trip costs."""
    return flight_price + hotel_price_per_night * num_nights


def find_flights(table: Sequence[Json], from_location: str, to_location: str, date: str) -> list[Json]:
    """The rows of the table with this way on this day, in its order."""
    way = (_place(from_location), _place(to_location), date.strip())
    return [row for row in table if (_place(row["from_location"]), _place(row["to_location"]), row["date"]) == way]


def book_hotel(table: Sequence[Json], location: str, preferences: Sequence[str] | str = ()) -> list[Json]:
    """The rows of the table at this place that have all that is preferred, in its order."""
    wanted = {preference.strip().casefold() for preference in _listed(preferences)}
    return [row for row in table if _place(row["location"]) == _place(location) and wanted <= set(row["preferences"])]


def _place(text: str) -> str:
    """subtle: the tables write places with quotation marks of their own."""
    return text.strip().strip("\"'").casefold()


def convert_hex_to_ascii(hex_string: str) -> str:
    """The text that the digits stand for."""
    return bytes.fromhex(hex_string).decode("ascii")


def reverse_string(string: str) -> str:
    """From its end to its beginning."""
    return string[::-1]


def caesar_decode(message: str, shift: int) -> str:
    """Each letter `shift` places further to the front of the alphabet, round and round; other signs stay."""

    def decoded(sign: str) -> str:
        if not (sign.isascii() and sign.isalpha()):
            return sign
        first = ord("a" if sign.islower() else "A")
        return chr((ord(sign) - first - shift) % 26 + first)

    return "".join(map(decoded, message))


def string_length(string: str) -> int:
    """How many signs it has."""
    return len(string)


def count_nucleotides(dna_sequence: str) -> dict[str, int]:
    """How often each occurs, in the order in which they first do."""
    return dict(Counter(dna_sequence))


def transcribe_dna_to_mrna(dna_sequence: str) -> str:
    """The complementary mRNA."""
    return dna_sequence.translate(_DNA_TO_MRNA)


def reverse_transcribe_mrna_to_dna(mrna_sequence: str) -> str:
    """The complementary DNA."""
    return mrna_sequence.translate(_MRNA_TO_DNA)


def translate_mrna_to_amino_acid(mrna_sequence: str) -> str:
    """Names of the amino acids, joined with "-"; X for a codon that is not known or not whole."""
    codons = (mrna_sequence[place : place + 3] for place in range(0, len(mrna_sequence), 3))
    return "-".join(_CODONS.get(codon, "X") for codon in codons)


def find_max_nucleotide(args: Sequence[Any]) -> tuple[str, int]:
    """The nucleotide that occurs most often, the first one of several, from (k1, v1, k2, v2, ...).

    Raises:
        ValueError: it is no sequence of pairs.
    """
    if not args or len(args) % 2:
        raise ValueError("give pairs of nucleotide and count: k1, v1, k2, v2, ...")
    pairs = list(zip(args[::2], args[1::2], strict=True))
    most = max(count for _, count in pairs)
    return next((name, count) for name, count in pairs if count == most)


def is_valid_dna_sequence(dna_sequence: str) -> bool:
    """Whether all of it is A, C, G or T."""
    return set(dna_sequence) <= set("ACGT")


def _listed(values: Any) -> Sequence[Any]:
    """One value for a list of it, as a model may well write it."""
    return [values] if isinstance(values, str | int | float) else list(values)


def _over(reduce: Callable[[Sequence[Any]], Any]) -> Function:
    def function(args: Any) -> Any:
        return reduce(_listed(args))

    return function


_BROWSER = ("click_url", "go_to_previous_page", "scroll_down", "scroll_up", "view")
_FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(("minimum_value", "find_minimum", "min"), _over(min)),
    **dict.fromkeys(("maximum_value", "find_maximum", "max"), _over(max)),
    "sum": _over(sum),
    "calculator": calculate,
    "convert_currency": convert_currency,
    "calculate_tariff": calculate_tariff,
    "estimate_final_value": estimate_final_value,
    "budget_calculator": budget_calculator,
    "convert_hex_to_ascii": convert_hex_to_ascii,
    "reverse_string": reverse_string,
    "caesar_decode": caesar_decode,
    "string_length": string_length,
    "count_nucleotides": count_nucleotides,
    "transcribe_dna_to_mrna": transcribe_dna_to_mrna,
    "reverse_transcribe_mrna_to_dna": reverse_transcribe_mrna_to_dna,
    "translate_mrna_to_amino_acid": translate_mrna_to_amino_acid,
    "find_max_nucleotide": find_max_nucleotide,
    "is_valid_dna_sequence": is_valid_dna_sequence,
}
