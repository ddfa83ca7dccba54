"""Plates of vehicles (L): after a word for the plate or the vehicle, and forms that speak for themselves.

The letters and digits of plates look like those of laboratory values, so that most forms need a word
before them: `plate`, `Kennzeichen`, `immatriculé`, `matrícula`, or, for the forms of a country, a vehicle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.measure.text.spans import TextSpan

# Words for the plate itself: whatever looks like a plate soon after them is one.
_PLATE_WORD = re.compile(
    r"\b(?:(?:licen[sc]e |number |registration |car |vehicle )?plates?(?: number)?|registration(?: (?:number|no|mark))?|reg\.?(?: no\.?)?|tag number|amtl\.? kennzeichen|(?:auto|kfz-|amtliche[sn]? )?kennzeichen|nummernschild"
    r"|immatricul\w{1,8}|plaques?(?: d['’]immatriculation| minéralogique)?|matr[íi]culas?|placas?|patente|targa|vr[mn]|kenteken|regnr|registreringsnummer|rejestracyjn\w{1,4}|rejestracj\w{1,3})\b",
    re.IGNORECASE,
)
# What may stand between: small words of the four languages, or the rest of a noun phrase.
_BETWEEN = re.compile(
    r"(?: {1,2}(?:\([^()\n]{1,20}\)|[^\W\d_][\w'’-]{0,20})){0,8}? {0,2}[:=#(\"“]? {0,2}(?:is |was |no\.? |nr\.? |n[º°] ?|number |es |est |lautet |ist |war )?[\"“(]?"
)
_NEAR = re.compile(
    r"(?: [^\W\d_][\w-]{2,12}){0,2}(?:,? (?:of|with|the|mit|dem|von|du|de|la|le|del|el|con|avec|no\.?|nr\.?|n[º°]|,))?,?(?: (?:plates?|kennzeichen|plaque|matr[íi]cula|immatriculé?e?s?))?[ :]{1,2}[(\"“#]?"
)
_SIGNS = r"[A-ZÄÖÜ0-9]"
_ANY_PLATE = re.compile(
    rf"(?=[A-ZÄÖÜ -]{{0,7}}\d)(?<![\w./-]){_SIGNS}{{1,8}}(?:[ ·•-]{_SIGNS}{{1,6}}){{0,3}}(?![\w/%]|[.,]\d|-\w)"
)
COUNTRY_PLATE = re.compile(
    r"(?<![\w./-])(?!(?:GCS|BP|HR|RR|ISS|EKG|ECG|SPO|BMI|LOC|TBI|ICD|CPT|ED|ER|RTW|NEF|BZ|TA|FC|FR|SAT|ETA|ETOH|AIS|RTS|AVPU|NACA|SCG|ASA)\b)(?:"
    r"[A-Z]{2}[ -]?\d{3}[ -]?[A-Z]{2}"  # France, Italy
    r"|\d{2,3}[ -][A-Z]{2,3}[ -]\d{2}"  # France before 2009
    r"|[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?"  # Germany
    r"|[A-Z]{1,2}[- ]\d{1,6} ?[A-Z]{1,3}"  # Austria
    r"|[A-Z]{2}\d{2} ?[A-Z]{3}|[A-Z]\d{1,3} ?[A-Z]{3}"  # United Kingdom
    r"|\d{4}[ -]?[A-Z]{3}|[A-Z]{1,2}[ -]\d{4}[ -][A-Z]{1,2}"  # Spain
    r"|[A-Z]{2}[- ·]\d{1,3}[ ']?\d{3}|[A-Z]{4}-?\d{2}"  # Switzerland, Chile
    r"|[A-Z]{3}[ -]?\d{1,2}[ -]?\d{1,2}[A-Z]?|[A-Z]{3}-\d{2,3}-[A-Z0-9]{1,3}"  # Mexico, Sweden, many states
    r"|[A-Z]{3}-?\d[A-Z]\d{2}|[A-Z]{3}[- ]?\d{4}"  # Brazil, many states
    r"|[A-Z0-9]{1,3}-[A-Z0-9]{2,3}-[A-Z0-9]{1,3}"  # Netherlands
    r"|[A-Z]{2,3} \d{3,5}[A-Z]{0,2}|[A-Z]{2,3} [A-Z0-9]{4,5}"  # Poland
    r"|\d{2,3}[- ][A-Z]{1,2}[- ]\d{1,6}"  # Ireland
    r"|[A-Z]{2}[ -]?\d{1,2}[ -]?[A-Z]{1,3}[ -]?\d{4}"  # India
    r"|[A-Z]{3} \d{1,3}[A-Z]|[A-Z]{4}[ -]\d{3}|\d[A-Z]{2}[ -]?\d[A-Z]{2}|[A-Z]{3}[ -]?\d{2}[A-Z]"  # United Kingdom before 1983, Canada, Australia
    r"|\d[A-Z]{3} ?\d{3}|\d{3}[ -]?[A-Z]{3}|[A-Z]{2}[- ]?\d{4,5}|\d{2} ?\d{2}[A-Z]{2}|\d-\d{4}[A-Z]|[A-Z]{2}\d [A-Z0-9]{3}"  # other states
    r")(?![\w/%]|[.,]\d|-\w)"
)
# Forms that hardly anything else has: `AB-123-CD`, `M-AB 1234`, `SZY-4C17`, `LK19 XYZ` (the digits are half-years), `191-D-12345`,
# `MH 12 AB 1234`.
_CLEAR_PLATE = re.compile(
    r"[A-Z](?<![\w./-].)(?:[A-Z]-\d{3}-[A-Z]{2}|[A-ZÄÖÜ]{0,2}-[A-Z]{1,2} \d{1,4}[EH]?|[A-Z]{2}-\d[A-Z]\d{2}"
    r"|[A-HJ-PR-Y](?:[0-2]\d|[5-7]\d) ?[A-HJ-PR-Z]{3}|[A-Z][ -]\d{1,2}[ -][A-Z]{1,3}[ -]\d{4})(?![\w/%-]|[.,]\d)"
)
_IRISH_PLATE = re.compile(r"-[A-Z]{1,2}-\d{1,6}(?![\w/%-]|[.,]\d)")
_IRISH_YEAR = re.compile(r"(?<![\w./-])[0-3]\d[12]?\Z")
_BRACKETED = re.compile(
    r"(?: [^\W\d_]{3,12})? \((?P<plate>(?=[0-9 -]{0,7}[A-Z])(?=[A-Z -]{0,7}\d)[A-Z0-9][A-Z0-9 -]{3,9}[A-Z0-9])\)"
)
_SHORTEST, _LONGEST = 4, 10
_REACH = 64
_UNIT = re.compile(r" ?(?:mg|ml|mcg|km|mph|cm|mm|years?|days?|Jahre|ans|años|Uhr)\b")


_PLATE_WORDS_TEXT = """
plate plates registration reg tag kennzeichen autokennzeichen nummernschild plaque plaques matricula matrícula matriculas matrículas placa placas
patente targa vrm vrn kenteken regnr registreringsnummer
"""
_PLATE_WORDS = frozenset(_PLATE_WORDS_TEXT.split())
# Words for a vehicle and its driver: the form of a country's plate must follow at once.
_VEHICLES_TEXT = """
vehicle vehicles car truck van motorcycle motorbike ambulance taxi sedan pickup suv bus trailer scooter driver fahrzeug fahrzeugs wagen
wagens auto autos pkw lkw kfz motorrad krankenwagen unfallwagen unfallwagens transporter fahrer vehicule vehicules véhicule véhicules
voiture voitures camion camionnette moto conducteur conductrice vehiculo vehículo vehiculos vehículos coche coches furgoneta motocicleta
automovil automóvil conductor conductora honda toyota ford bmw audi mercedes volkswagen vw golf passat polo clio renault peugeot citroen citroën seat opel fiat skoda
volvo mazda nissan hyundai kia dacia vauxhall tesla jeep chevrolet subaru suzuki mitsubishi lexus jaguar porsche cupra saab dodge chrysler
buick cadillac vespa yamaha kawasaki ducati piaggio iveco scania lorry lorries minibus hatchback saloon moped tractor coach limousine
lastwagen lastkraftwagen sattelzug anhänger motorroller roller traktor wohnmobil kombi lieferwagen kleinbus taxis fourgon fourgonnette
utilitaire autocar tracteur remorque scooters berline camión camion camiones autobús autobus autocares motocicletas ciclomotor tractor
remolque turismo camioneta todoterreno samochód samochodu pojazd
"""
_VEHICLES = frozenset(_VEHICLES_TEXT.split())
_VEHICLE_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_VEHICLES, reverse=True))})\b")


def speaks_of_vehicles(words: set[str]) -> bool:
    """Return whether a text speaks of a vehicle or a plate; `words` are its distinct words in lower case."""
    return not words.isdisjoint(_VEHICLES) or not words.isdisjoint(_PLATE_WORDS)


def find_plates(text: str, lower: str, words: set[str]) -> Iterator[TextSpan]:
    """Return plates; `lower` and `words` are the text and its distinct words in lower case."""
    if not words.isdisjoint(_PLATE_WORDS) or "immatricul" in lower or "rejestr" in lower:
        for found in _PLATE_WORD.finditer(lower):
            yield from _plate_after(text, found.end(), _BETWEEN, _ANY_PLATE)
    if not words.isdisjoint(_VEHICLES):
        for found in _VEHICLE_WORD.finditer(lower):
            bracketed = _BRACKETED.match(text, found.end())
            if bracketed is not None:
                yield TextSpan(*bracketed.span("plate"), "L", "VEHICLE")
            yield from _plate_after(text, found.end(), _NEAR, COUNTRY_PLATE)
    for found in _CLEAR_PLATE.finditer(text):
        yield TextSpan(*found.span(), "L", "VEHICLE")
    for found in _IRISH_PLATE.finditer(text):
        year = _IRISH_YEAR.search(text, max(0, found.start() - 4), found.start())
        if year is not None:
            yield TextSpan(year.start(), found.end(), "L", "VEHICLE")


def _plate_after(
    text: str, start: int, between: re.Pattern[str], form: re.Pattern[str]
) -> Iterator[TextSpan]:
    """Return the plate that follows a word, if only what may stand between them does."""
    plate = form.search(text, start, min(len(text), start + _REACH))
    if plate is None or between.fullmatch(text, start, plate.start()) is None:
        return
    length = sum(sign.isalnum() for sign in plate[0])
    if _SHORTEST <= length <= _LONGEST and not _UNIT.match(text, plate.end()):
        yield TextSpan(*plate.span(), "L", "VEHICLE")
