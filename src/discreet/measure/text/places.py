"""Places smaller than a state: streets, towns, counties, ZIP codes, and institutions in them (B)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.measure.text import lexicon
from discreet.measure.text.context import word_before
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan

_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC"
    "|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|PR"
)
_STATE_NAMES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa"
    "|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada"
    "|New (?:Hampshire|Jersey|Mexico|York)|(?:North|South) (?:Carolina|Dakota)|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island"
    "|Tennessee|Texas|Utah|Vermont|(?:West )?Virginia|Washington|Wisconsin|Wyoming"
)
_SUFFIX = (
    "Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Terrace|Ter|Circle|Cir|Way|Parkway|Pkwy"
    "|Highway|Hwy|Square|Sq|Trail|Trl|Alley|Crescent|Cres|Close|Mews|Turnpike|Tpke|Plaza|Loop|Row|Pike|Path|Walk|Commons"
    "|Crossing|Expressway|Heights|Hollow|Ridge|Landing|Run|Point"
)
_UNIT = (
    r"(?:,? {0,2}(?:apt|apartment|unit|suite|ste|floor|fl|room|rm|lot|trailer|#)\.? ?#?[\w-]{1,6})?"
)
_CAP = r"[^\W\d_a-z][\w'’.-]{0,30}"
_STREET = re.compile(
    rf"\d(?<![\w./-]\d)\d{{0,5}}[A-Za-z]?(?:-\d{{1,4}})?,? {{1,2}}(?:(?:[NSEW]|NE|NW|SE|SW)\.? )?"
    rf"(?:(?:{_CAP}|\d{{1,3}}(?:st|nd|rd|th)) ){{1,4}}?(?:{_SUFFIX}|{_SUFFIX.upper()})\b\.?"
    rf"(?: (?:[NSEW]|NE|NW|SE|SW)\b\.?)?(?i:{_UNIT})"
)
_PLAIN_STREET = re.compile(
    r"\d(?<![\w./-]\d)\d{0,5} (?!(?:minutes?|hours?|miles?|blocks?|years?|days?|weeks?|months?|feet|more|people|times|of|to|in|on|mg)\b)"
    r"(?:(?!(?:down|up|the|from|of|to|in|on|a|and|along)\b)[a-z]{3,20} ){1,3}?(?:street|avenue|boulevard|road|lane|st\.|ave\.|blvd|rd\.)(?!\w)"
    rf"(?i:{_UNIT})"
)
_FOREIGN_STREET = re.compile(
    r"[^\W\d_a-z](?<!\w.)[\w-]{2,30}(?:straße|strasse|str\.|weg|platz|gasse|allee|straat|laan|gatan) \d{1,4}[a-z]?(?!\w)"
    r"|\d(?<!\w\d)\d{0,3},? (?:bis |ter )?(?:rue|avenue|boulevard|place|chemin|impasse|quai) (?:(?:de|du|des|la|le|les|d['’]|l['’]) ?){0,3}"
    rf"{_CAP}(?:[ -]{_CAP}){{0,3}}|(?:Calle|Avenida|Via|Piazza|Rua) (?:(?:de|del|la|las|los|da|do|dei) ){{0,2}}{_CAP}(?: {_CAP}){{0,2}},? \d{{1,4}}"
)
_BOX = re.compile(
    r"\bP\.? ?O\.? ?Box[ #]{0,2}\d{1,7}|\b(?:RR|Rural Route) ?#?\d{1,3},? Box \d{1,5}",
    re.IGNORECASE,
)
_APARTMENT = re.compile(
    r"\b(?:apt|apartment)\.? ?#?(?=\w{0,5}\d|[A-Z]\b)(?P<unit>[\w-]{1,6})(?!\w)", re.IGNORECASE
)
_TOWN = rf"{_CAP}(?:[ -](?:de |del |la |on |upon )?{_CAP}){{0,2}}"
_TOWN_STATE = re.compile(
    rf"(?:\b(?P<state>{_STATES})|\b(?P<name>{_STATE_NAMES}))\b(?:[,.]? {{1,3}}(?P<zip>\d{{5}}(?:[-–]\d{{4}})?)(?!\w|-\d))?"
)
_TOWN_BEFORE = re.compile(rf"(?<![\w'’.-])(?P<town>{_TOWN}),? {{1,2}}\Z")
_ZIP = re.compile(
    r"\b(?:zip(?:[ -]?code)?|postal code)(?: (?:is|of))?[ :]{1,3}(?P<zip>\d{5}(?:-\d{4})?)(?!\w)",
    re.IGNORECASE,
)
_ZIP_PLUS = re.compile(r"\d(?<![\w./-]\d)\d{4}-\d{4}(?![\w-])")
_POSTCODE = re.compile(
    r"[A-Z](?<!\w.)(?:[A-Z]?\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}|\d[A-Z] \d[A-Z]\d)(?!\w)"
)
_LIVES = re.compile(
    r"\b(?:(?:lives?|lived|living|resid(?:es?|ed|ing)|raised|grew up|works?|worked|working|home|house|stay(?:s|ed|ing)?|retired|farms?|job|"
    r"employed|vacation(?:ing|ed)?|married|settled|apartment|condo|shelter|hospitali[sz]ed|imprisoned|based|accident|practice[sd]?|school)"
    r"(?: (?:alone|independently|with \w{1,12} \w{1,12}|with \w{1,12}|now|currently|there|at home))?,? (?:in|near|outside(?: of)?|at)"
    r"|born in|native of|resident of|town of|city of|village of|suburb of|outskirts of|neighborhood of|county of"
    r"|(?:moved|relocated|moving|travell?(?:ed|ing|s)?|drove|flew|flies|drives|returned|trip|transport(?:ation)?|ride|flight|commutes|went|emigrated|immigrated|transferred|transported"
    r"|airlifted|evacuated)(?: \w{2,12})?(?: here| back| recently)? (?:to|from|in)"
    r"|(?:originally|is|was|are|comes?|came|hails|man|woman|male|female|gentleman|lady|patient|family|visiting|visitor|tourist|retiree|farmer"
    r"|veteran|student|teacher|worker|immigrant|refugee|here|daughter|son|brother|sister) from|hometown(?: of| is|:)?|city:|town:|residence:|address:|county:|lives:"
    r")[ ]{1,2}(?:the )?(?:(?:city|town|village|suburb|outskirts|area|north|south|east|west|downtown|rural|nearby) (?:of )?)?\Z",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"\b(?:in|from|to|near|at|outside|via|of|around|through) (?:downtown |north |south |east |west |greater )?\Z",
    re.IGNORECASE,
)
_TOWN_HERE = re.compile(
    rf"[^\W\d_a-z](?<![\w'’-].)[\w'’.-]{{0,30}}(?:[ -](?:de |del |la |on |upon )?{_CAP}){{0,2}}"
)
_COUNTY = re.compile(
    rf"(?<![\w'’-]){_CAP}(?: {_CAP})? (?:County|Parish|Township|Borough|Precinct|Village|Municipality)\b|\bPrecinct \d{{1,4}}"
)
_INSTITUTION = re.compile(
    rf"(?<![\w'’.-])(?:{_CAP}(?: (?:of |and |the |& )?)){{1,5}}(?:Hospitals?|Medical Center|Clinic|Health (?:Center|Centre|System)|Nursing Home|Rehab(?:ilitation)?(?: Center| Hospital)?"
    r"|Hospice|Infirmary|Pharmacy|University|College|Church|High School|Elementary(?: School)?|Middle School|School|Academy|Manor|Assisted Living"
    r"|Senior Living|Care Center|Surgery Center|Cancer Center|Dialysis Center|Retirement (?:Home|Community|Village)|Shelter|Prison|Jail|Synagogue|Mosque)\b"
)
_WORDS = re.compile(r"[^\W\d_][\w'’]{0,40}")


_STREET_WORDS = frozenset(word.lower() for word in _SUFFIX.split("|"))
_PLAIN_WORDS = frozenset(
    ("street", "avenue", "boulevard", "road", "lane", "st", "ave", "blvd", "rd")
)
_FOREIGN_SIGNS = (
    "straße",
    "strasse",
    "str.",
    "weg ",
    "platz",
    "gasse",
    "allee",
    "straat",
    "laan",
    "gatan",
    "rue ",
    "avenue ",
    "boulevard ",
)
_FOREIGN_WORDS = frozenset(
    ("calle", "avenida", "via", "piazza", "rua", "place", "chemin", "impasse", "quai")
)
_STATE_WORDS = frozenset(_STATES.split("|")) | frozenset(re.findall(r"[A-Z][a-z]+", _STATE_NAMES))
_INSTITUTION_NAMES = """
Hospital Hospitals Center Clinic Centre Home Rehab Rehabilitation Hospice Infirmary Pharmacy University College Church School
Elementary Academy Manor Living System Shelter Prison Jail Synagogue Mosque Community Village County Parish Township Borough
Precinct Municipality
"""
_INSTITUTION_WORDS = frozenset(_INSTITUTION_NAMES.split())
_IN_TOWN = re.compile(rf",? in (?P<town>{_TOWN})")
_TAILS = """
falls heights creek hollow mills springs beach park city hills valley ridge grove lake river rapids harbor harbour port village
junction bay island point bridge ferry landing crossing corner corners green hill wood woods field fields ford
"""
_TOWN_TAILS = frozenset(_TAILS.split())
_HEADS = "port fort lake new north south east west mount saint st san santa el los las upper lower great little old"
_TOWN_HEADS = frozenset(_HEADS.split())
_PATRONS_TEXT = """
mercy hope grace memorial general saint st mount sacred holy good samaritan providence regional baptist methodist
presbyterian lutheran trinity deaconess veterans county valley
"""
_PATRONS = frozenset(_PATRONS_TEXT.split())
_TITLE_STATES = frozenset(("MD", "PA", "MA", "DO", "OR", "IN", "ME", "OK", "HI", "MS"))


def find_street_addresses(text: str, lower: str, words: set[str]) -> Iterator[TextSpan]:
    """Return street addresses, boxes and apartments; all of them hold a digit.

    `lower` and `words` are the text and its distinct words in lower case: patterns run only where
    one of their words occurs.
    """
    patterns: list[re.Pattern[str]] = []
    if not words.isdisjoint(_STREET_WORDS):
        patterns.append(_STREET)
    if not words.isdisjoint(_PLAIN_WORDS):
        patterns.append(_PLAIN_STREET)
    if not words.isdisjoint(_FOREIGN_WORDS) or any(sign in lower for sign in _FOREIGN_SIGNS):
        patterns.append(_FOREIGN_STREET)
    if "box" in words:
        patterns.append(_BOX)
    if "apt" in words or "apartment" in words:
        patterns.append(_APARTMENT)
    for found in (match for pattern in patterns for match in pattern.finditer(text)):
        yield TextSpan(*found.span(), "B", "PLACE")
        town = _IN_TOWN.match(text, found.end())
        if town and (length := _end_of_town(town["town"])):
            yield TextSpan(town.start("town"), town.start("town") + length, "B", "PLACE")


def find_postcodes(text: str, words: set[str]) -> Iterator[TextSpan]:
    """Return ZIP codes that a word or their form gives away, and British and Canadian postcodes."""
    if not words.isdisjoint(("zip", "zipcode", "postal")):
        for found in _ZIP.finditer(text):
            yield TextSpan(*found.span("zip"), "B", "ZIP", found["zip"][:3])
    for found in _ZIP_PLUS.finditer(text):
        yield TextSpan(*found.span(), "B", "ZIP", found[0][:3])
    for found in _POSTCODE.finditer(text):
        yield TextSpan(*found.span(), "B", "PLACE")


def find_towns_with_states(text: str, words: set[str]) -> Iterator[TextSpan]:
    """Return towns before a state, and the ZIP code after it; the state itself may stay.

    `words` are the text's distinct words as written.
    """
    if words.isdisjoint(_STATE_WORDS):
        return
    for found in _TOWN_STATE.finditer(text):
        if found["zip"]:
            yield TextSpan(*found.span("zip"), "B", "ZIP", found["zip"][:3])
        before = _TOWN_BEFORE.search(text, max(0, found.start() - 60), found.start())
        if before is None:
            continue
        span = _town_span(before, sure=bool(found["zip"]) or "," in before[0])
        # `Anna Smith, MD` is no town in Maryland.
        is_state = found["zip"] or found["name"] or found["state"] not in _TITLE_STATES
        if span and (is_state or fold_accents(before["town"]) in lexicon.cities()):
            yield span


def _town_span(found: re.Match[str], *, sure: bool) -> TextSpan | None:
    """Return the town that ends a run of capitalized words, without ordinary words before it."""
    words = list(_WORDS.finditer(found["town"]))
    offset = found.start("town")
    is_whole = (
        found.string[max(0, offset - 2) : offset] == ", "
        or fold_accents(found["town"]) in lexicon.cities()
    )
    while len(words) > 1 and not is_whole and lexicon.is_ordinary(fold_accents(words[0][0])):
        words.pop(0)
    if not words:
        return None
    town = fold_accents(found["town"][words[0].start() :])
    is_word = all(lexicon.is_ordinary(fold_accents(word[0])) for word in words)
    if town not in lexicon.cities() and (is_word or not sure):
        return None
    return TextSpan(offset + words[0].start(), offset + len(found["town"]), "B", "PLACE")


_TOWN_ENDS_TEXT = """
in near outside of at to from hometown is city town residence address county lives the village suburb outskirts area north south
east west downtown rural nearby greater around through via
"""
_TOWN_ENDS = frozenset(_TOWN_ENDS_TEXT.split())


def find_towns(text: str) -> Iterator[TextSpan]:
    """Return towns after `lives in` and the like, and known towns after a preposition."""
    for found in _TOWN_HERE.finditer(text):
        start = found.start()
        if word_before(text, start) not in _TOWN_ENDS:
            continue
        known = _longest_known(found[0])
        if known and _PREPOSITION.search(text, max(0, start - 24), start):
            yield TextSpan(start, start + known, "B", "PLACE")
        elif _LIVES.search(text, max(0, start - 64), start) or _is_strange(text, found):
            end = _end_of_town(found[0])
            if end:
                yield TextSpan(start, start + end, "B", "PLACE")


def _is_strange(text: str, found: re.Match[str]) -> bool:
    """Return whether `in`, `from`, `near` or `at` stands before a word that no list knows."""
    start = found.start()
    if text[start - 1 : start] != " " or word_before(text, start) not in (
        "in",
        "from",
        "near",
        "at",
    ):
        return False
    words = _WORDS.findall(found[0])
    if len(words) > 1 and fold_accents(words[0]) in _TOWN_HEADS:
        words.pop(0)
    if (
        not words
        or len(words[0]) < 4
        or not words[0].istitle()
        or "'" in words[0]
        or "’" in words[0]
    ):
        return False
    plain = fold_accents(words[0])
    known = (lexicon.given_names(), lexicon.family_names(), lexicon.eponyms())
    return not lexicon.is_ordinary(plain) and not any(plain in names for names in known)


def _longest_known(town: str) -> int:
    words = list(_WORDS.finditer(town))
    for last in range(len(words), 0, -1):
        end = words[last - 1].end()
        if fold_accents(town[:end]).replace(".", "") in lexicon.cities():
            return end
    return 0


def _end_of_town(town: str) -> int:
    """Return where the name of an unknown town ends, 0 if the words are no town's name.

    `Cedar Hollow` and `Port Almsbury` have ordinary words in them, `Emergency Department` only such.
    """
    words = list(_WORDS.finditer(town))
    plain = [fold_accents(word[0]) for word in words]
    end = 0
    for number, word in enumerate(words):
        if word[0].isupper() and len(word[0]) > 1:
            break
        if lexicon.is_ordinary(plain[number]) and plain[number] not in _TOWN_TAILS:
            following = plain[number + 1] if number == 0 and len(plain) > 1 else ""
            if not following or (lexicon.is_ordinary(following) and following not in _TOWN_TAILS):
                break
        end = word.end()
    return 0 if end and plain[0] in _TOWN_TAILS and end == words[0].end() else end


def find_institutions(text: str, words: set[str]) -> Iterator[TextSpan]:
    """Return hospitals, schools and churches by name, and counties: they reveal the town.

    `words` are the text's distinct words as written.
    """
    if words.isdisjoint(_INSTITUTION_WORDS):
        return
    for found in _INSTITUTION.finditer(text):
        parts = [word for word in _WORDS.finditer(found[0]) if word[0][0].isupper()]
        if any(_is_proper(fold_accents(word[0])) for word in parts):
            first = next(word for word in parts if not _opens_sentence(fold_accents(word[0])))
            yield TextSpan(found.start() + first.start(), found.end(), "B", "PLACE")
    for found in _COUNTY.finditer(text):
        parts = [fold_accents(word[0]) for word in _WORDS.finditer(found[0])]
        # `Cook County`: an everyday word names a county as well, if it is no article.
        is_county = parts[-1] in _COUNTIES and not _NOT_NAMES.intersection(parts)
        if (
            is_county
            or any(not lexicon.is_ordinary(word) for word in parts)
            or any(sign.isdigit() for sign in found[0])
        ):
            yield TextSpan(*found.span(), "B", "PLACE")


_COUNTIES = frozenset(("county", "parish", "township"))
_NOT_NAMES = frozenset(
    (
        "the",
        "this",
        "our",
        "their",
        "his",
        "her",
        "my",
        "each",
        "every",
        "any",
        "another",
        "per",
        "local",
    )
)


def _is_proper(word: str) -> bool:
    """Return whether a word belongs to an institution's own name, not to what it does."""
    return word in _PATRONS or not lexicon.is_ordinary(word)


_OPENING_WORDS = "the at in from to admitted seen transferred patient follow contact call her his"
_OPENING = frozenset(_OPENING_WORDS.split())


def _opens_sentence(word: str) -> bool:
    """Return whether a word before an institution's name is only the start of the sentence."""
    return word in _OPENING
