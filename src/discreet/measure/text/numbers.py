"""Numbers given to one person or thing: social security, records, plans, accounts, licenses, devices.

Words before the number say what it is; some shapes and check digits speak for themselves. Every
token with a digit is looked at once, and the words before it are looked up, not searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.measure.text import checksums
from discreet.measure.text.spans import TextSpan

_LABELS = {
    "G": "SSN",
    "H": "MRN",
    "I": "PLAN",
    "J": "ACCOUNT",
    "K": "LICENSE",
    "L": "VEHICLE",
    "M": "DEVICE",
    "P": "BIOMETRIC",
    "R": "ID",
}
# Words that announce a number of each class. Those after the bar are also everyday words: between
# them and the number must stand `number`, `#`, `:` or the like, or the number must be long.
_CUES = {
    "G": "ssn sin nino itin dni nie nif nir curp rfc nss steuer-id steueridentifikationsnummer steuernummer sozialversicherungsnummer rentenversicherungsnummer "
    "ahv-nummer | social tax taxpayer",
    "H": "mrn mr# mrn# umrn urn nhs emr ehr nhc ipp patientennummer fallnummer aktennummer krankenaktennummer | record records chart historia historial dossier expediente patienten fall akte patient pt hospital unit file fin rec",
    "I": "versichertennummer versicherungsnummer krankenversicherungsnummer mitgliedsnummer policennummer vertragsnummer versicherungsscheinnummer hic hicn mbi pcn rxbin rxgrp | member membership subscriber policy policyholder group plan beneficiary medicare medicaid "
    "insurance insured payer ins versicherten versicherung police póliza poliza assurance assuré seguro afiliación contrat contrato vertrag mutuelle",
    "J": "kontonummer rechnungsnummer acct iban a/c visa mastercard amex | account accounts konto compte cuenta tarjeta carte karte facture factura rechnung card bank routing billing invoice guarantor",
    "K": "führerscheinnummer approbationsnummer dea npi upin lic lic# | license licence licenses driver's drivers certificate cert certification board dl",
    "L": "fahrgestellnummer vin plate plates | vehicle tag registration car",
    "M": "seriennummer s/n imei udi serial | sn device implant pacemaker pump lead generator model lot ref prosthesis sensor stent valve mac",
    "P": "fingerprint fingerprints biometric biometrics voiceprint palmprint faceprint faceid | retina retinal iris genome template",
    "R": "kundennummer schadennummer vorgangsnummer aktenzeichen auftragsnummer bestellnummer buchungsnummer personalnummer ausweisnummer reisepassnummer passnummer pasaporte passeport reisepass personalausweis sinistre "
    "siniestro accession csn passport badge username login barcode requisition docket confirmation | specimen case study order rx "
    "prescription employee staff student encounter visit reference ticket claim authorization auth referral booking tracking user id "
    "identifier identification inmate kunden kunde client cliente schaden vorgang az auftrag bestellung commande pedido référence referencia réf ref. ticket cas caso identité identidad ausweis claim military service veteran sample subject participant",
}
_PHRASES = {
    ("social", "security"): "G",
    ("soc", "sec"): "G",
    ("sécurité", "sociale"): "G",
    ("seguridad", "social"): "G",
    ("historia", "clínica"): "H",
    ("historia", "clinica"): "H",
    ("national", "insurance"): "G",
    ("medical", "record"): "H",
    ("med", "rec"): "H",
    ("patient", "id"): "H",
    ("pt", "id"): "H",
    ("health", "plan"): "I",
    ("health", "card"): "I",
    ("insurance", "card"): "I",
    ("medicare", "card"): "I",
    ("credit", "card"): "J",
    ("debit", "card"): "J",
    ("bank", "account"): "J",
    ("insurance", "policy"): "I",
    ("license", "plate"): "L",
    ("licence", "plate"): "L",
    ("number", "plate"): "L",
    ("retinal", "scan"): "P",
    ("iris", "scan"): "P",
    ("palm", "print"): "P",
    ("voice", "print"): "P",
    ("dna", "profile"): "P",
    ("facial", "template"): "P",
}
_WEAK: dict[str, str] = {}
_STRONG: dict[str, str] = {}
for _kind, _list in _CUES.items():
    _sure, _unsure = _list.split(" | ")
    _STRONG.update(dict.fromkeys(_sure.split(), _kind))
    _WEAK.update(dict.fromkeys(_unsure.split(), _kind))
_SAYS = frozenset(
    (
        "number",
        "numbers",
        "nummer",
        "numéro",
        "número",
        "numero",
        "°",
        "º",
        "num",
        "no",
        "nr",
        "nbr",
        "id",
        "ids",
        "identifier",
        "code",
        "ending",
        "#",
        ":",
        "=",
    )
)
_BETWEEN = (
    _SAYS
    | {"."}
    | frozenset(
        (
            "-",
            "n",
            "de",
            "du",
            "del",
            "la",
            "le",
            "el",
            "ist",
            "est",
            "es",
            "lautet",
            "mit",
            "der",
            "is",
            "was",
            "of",
            "for",
            "in",
            "card",
            "holder",
            "hash",
            "scan",
            "the",
            "last",
            "four",
            "digits",
            "on",
            "device",
            "plate",
            "(",
            "identification",
        )
    )
)
_LOOK_BACK = 6
_ABBREVIATED = frozenset(
    (
        "no.",
        "nr.",
        "num.",
        "nbr.",
        "acct.",
        "lic.",
        "cert.",
        "med.",
        "rec.",
        "soc.",
        "sec.",
        "pt.",
        "ins.",
        "ref.",
        "réf.",
        "núm.",
        "exp.",
    )
)
_PIECE = re.compile(r"[^\W\d_]++(?:[/'’][^\W\d_]++)*+[#.]?|[#:=(]|[^\s\w]|\d")

_TOKEN = re.compile(r"\d")
_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*-/.")
_VALUE = re.compile(r"[A-Za-z0-9*]++(?:[-/.*][A-Za-z0-9*]++)*+")
_GROUPS = re.compile(
    r"(?:[ ][A-Z]{0,2}\d{2,7}[A-Z]?(?![\w/.:%-])(?! ?(?:mg|mcg|ml|units|tablets?|days|weeks|years|hours|yo)\b)){1,6}+"
)
_SSN = re.compile(r"(?:\d{3}|[Xx*]{3})([- –.\u2011])(?:\d\d|[Xx*]{2})\1\d{4}")
_SPACED_SSN = re.compile(r"\d(?<![\w.+-]\d)\d\d([ –\u2011])\d\d\1\d{4}(?![\w-])")
# The social security number of France, and the file number of a German court.
_NIR = re.compile(
    r"[12](?<![\w./-].) ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d[\dAB] ?\d{3} ?\d{3}(?: ?\d{2})?(?!\w)"
)
_COURT_FILE = re.compile(r"\d(?<![\w./-]\d)\d{0,3} [A-Z][A-Za-z]{0,2} \d{1,5}/\d{2}(?![\w/])")
_CARD = re.compile(
    r"\d(?<![\w.+-]\d)\d{3}([- ])\d{4}\1\d{4}\1\d{1,7}(?![\w-])|\d(?<![\w.]\d)\d{3} \d{6} \d{5}(?!\w)"
)
_IBAN = re.compile(r"[A-Z](?<!\w.)[A-Z]\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_MAC = re.compile(
    r"[0-9A-Fa-f](?<![\w:-].)[0-9A-Fa-f]([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])"
)
_MEDICARE = re.compile(
    r"[1-9][AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-?[AC-HJKMNP-RT-Y][AC-HJKMNP-RT-Y0-9]\d-?[AC-HJKMNP-RT-Y]{2}\d\d"
)
_VIN = re.compile(r"[A-HJ-NPR-Z\d]{17}")
_HEXADECIMAL = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}"
)
_LONG = re.compile(r"\d{7,}+")
_CODE = re.compile(
    r"[A-Z]{1,5}(?:-?\d{5,20}|-\d{2,6}-\d{2,12}|-\d{2,4}-[A-Z0-9]{3,12})(?:-[A-Z0-9]{1,8}){0,2}"
)
_MIXED = re.compile(r"(?=[A-Z0-9]{0,7}\d)(?=\d{0,9}[A-Z])[A-Z0-9]{8,}+")
_AMOUNT = re.compile(
    r"[ -]?(?:units?|u\b|iu|cells?|copies|per|/|x ?10|mg|mcg|ug|ml|cc|cfu|steps|dollars|people|k\b|platelets)|%|[,.]\d",
    re.IGNORECASE,
)
_PUBLIC = re.compile(
    r"(?:cpt|icd(?:-?(?:9|10))?(?:-cm)?|snomed(?:[ -]?ct)?|loinc|ndc|rxnorm|rxcui|hcpcs|drg|pmid|doi|nct|isbn|issn|atc|umls|mesh"
    r"|grant|\$|€|£|usd|version|firmware)(?: (?:code|number|no))?[ .:#]{0,3}\Z",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"\d{1,2}[-/.]\d{1,2}(?:[-/.](?:\d\d|\d{4}))?|(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|(?:19|20)\d\d(?:[-/]\d{2,4})?"
    r"|\d{1,3}(?:\.\d{1,2})?[a-zA-Z]{0,4}"
)
_PLATE_END = re.compile(r" (?:[A-Z]{1,4}|\d{2,4})\b")


def find_numbers(text: str) -> Iterator[TextSpan]:
    """Return numbers that a word before them or their own shape gives away (G to M, P, R)."""
    position = 0
    while found := _TOKEN.search(text, position):
        start = _start_of_token(text, found.start(), position)
        value = _VALUE.match(text, start)
        if value is None or value.end() <= found.start():  # a digit of another script
            position = found.end()
            continue
        position = value.end()
        token = value[0].rstrip("-/.")
        digits = sum(sign.isdigit() for sign in token)
        if digits >= 3 or (digits == 2 and len(token) >= 4):
            yield from _classify_token(text, start, token, digits)


def _start_of_token(text: str, digit: int, limit: int) -> int:
    """Return where the token of a digit begins; letters and marks before it belong to it."""
    start = digit
    while start > limit and digit - start < 64 and text[start - 1] in _SIGNS:
        start -= 1
    while start < digit and text[start] in "-/.":
        start += 1
    return start


def _classify_token(text: str, start: int, token: str, digits: int) -> Iterator[TextSpan]:
    if start and (text[start - 1].isalnum() or text[start - 1] in "_@.+"):
        return
    end = start + len(token)
    kind, is_sure = _cue_before(text, start)
    if kind is None:
        kind = _kind_of_shape(text, start, token) if digits >= 4 else None
    elif not _is_number(token, digits, is_sure=is_sure):
        kind = None
    elif groups := (_PLATE_END if kind == "L" else _GROUPS).match(text, end):
        end = groups.end()
    if kind is not None:
        kind = "G" if _SSN.fullmatch(token) else _kind_of_checks(token) or kind
        yield TextSpan(start, end, kind, _LABELS[kind])


def _cue_before(text: str, start: int) -> tuple[str | None, bool]:
    """Return the class that the words before a number announce, and whether they are clear."""
    nearest = _PIECE.findall(text[max(0, start - 48) : start].lower())[-_LOOK_BACK - 2 :]
    pieces = [part for piece in nearest for part in _split_piece(piece)]
    is_stated = False
    for place in range(len(pieces) - 1, max(-1, len(pieces) - 1 - _LOOK_BACK), -1):
        piece = pieces[place]
        phrase = _PHRASES.get((pieces[place - 1], piece)) if place else None
        if phrase is not None:
            return phrase, True
        if piece in _STRONG:
            return _STRONG[piece], True
        if piece in _WEAK and not (piece == "id" and place):
            return _WEAK[piece], is_stated
        if piece not in _BETWEEN:
            return ("R", True) if "id" in pieces[place + 1 :] else (None, False)
        is_stated = is_stated or piece in _SAYS
    return ("R", True) if "id" in pieces[-_LOOK_BACK:] else (None, False)


def _split_piece(piece: str) -> tuple[str, ...]:
    """Return a word without the dot that shortens it, and apart from the sign glued to it: `acct#`."""
    if piece in _ABBREVIATED:
        return (piece[:-1],)
    is_glued = len(piece) > 1 and piece.endswith("#") and piece not in _STRONG
    return (piece[:-1], "#") if is_glued else (piece,)


def _is_number(token: str, digits: int, *, is_sure: bool) -> bool:
    if _SSN.fullmatch(token):
        return True
    if _DATE_LIKE.fullmatch(token) and not (is_sure and token.isdigit()):
        return False
    if is_sure:
        return True
    return digits >= 5 or (digits >= 3 and len(token) >= 6 and not token.isdigit())


def _kind_of_shape(text: str, start: int, token: str) -> str | None:
    """Return the class of a number that no word announces."""
    if _SSN.fullmatch(token):
        return "G"
    if _MEDICARE.fullmatch(token):
        return "I"
    if (kind := _kind_of_checks(token)) is not None:
        return kind
    is_code = (
        _HEXADECIMAL.fullmatch(token)
        or _LONG.fullmatch(token)
        or _CODE.fullmatch(token)
        or _MIXED.fullmatch(token)
    )
    if not is_code or token.startswith("NCT") or _PUBLIC.search(text, max(0, start - 24), start):
        return None
    return None if token.isdigit() and _AMOUNT.match(text, start + len(token)) else "R"


def _kind_of_checks(token: str) -> str | None:
    """Return the class that check digits prove."""
    if (
        len(token) == 17
        and _VIN.fullmatch(token.upper())
        and not token.isdigit()
        and not token.isalpha()
    ):
        return "L" if checksums.passes_vin(token.upper()) else None
    if len(token) in (13, 15, 16, 19) and token.isdigit() and checksums.passes_luhn(token):
        if len(token) in (13, 16, 19) and token[0] in "23456":
            return "J"
        return "M" if len(token) == 15 and token[:2] in ("35", "86", "01", "99") else None
    return None


def find_grouped_numbers(text: str) -> Iterator[TextSpan]:
    """Return numbers written in groups: cards, accounts, addresses of devices."""
    for found in _SPACED_SSN.finditer(text):
        yield TextSpan(*found.span(), "G", "SSN")
    for found in _NIR.finditer(text):
        yield TextSpan(*found.span(), "G", "SSN")
    for found in _COURT_FILE.finditer(text):
        yield TextSpan(*found.span(), "R", "ID")
    for found in _CARD.finditer(text):
        is_card = checksums.passes_luhn(re.sub(r"\D", "", found[0]))
        yield TextSpan(*found.span(), *(("J", "ACCOUNT") if is_card else ("R", "ID")))
    if text.count(":") >= 5 or text.count("-") >= 5:
        for found in _MAC.finditer(text):
            yield TextSpan(*found.span(), "M", "DEVICE")
    for found in _IBAN.finditer(text):
        number = found[0].replace(" ", "")
        if 15 <= len(number) <= 34 and checksums.passes_iban(number):
            yield TextSpan(*found.span(), "J", "ACCOUNT")
