"""Places smaller than a state: towns, counties, and institutions in them (B)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.measure.text import languages, lexicon
from discreet.measure.text.context import word_before
from discreet.measure.text.likeness import name_likeness
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan
from discreet.measure.text.streets import STATES

_STATE_NAMES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa"
    "|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada"
    "|New (?:Hampshire|Jersey|Mexico|York)|(?:North|South) (?:Carolina|Dakota)|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island"
    "|Tennessee|Texas|Utah|Vermont|(?:West )?Virginia|Washington|Wisconsin|Wyoming"
)
_CAP = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]{0,30}"
_TOWN = rf"{_CAP}(?:[ -](?:de |del |la |on |upon )?{_CAP}){{0,2}}"
_TOWN_STATE = re.compile(
    rf"(?:\b(?P<state>{STATES})|\b(?P<name>{_STATE_NAMES}))\b(?:[,.]? {{1,3}}(?P<zip>\d{{5}}(?:[-–]\d{{4}})?)(?!\w|-\d))?"
)
_TOWN_BEFORE = re.compile(rf"(?<![\w'’.-])(?P<town>{_TOWN}),? {{1,2}}\Z")
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
_JOINT = (
    r"(?:(?:(?<!\.)|(?<=St\.)) |-|- |-{1,2}| (?:an der|am|im|in der|in|ob der|bei|vor der|sur|sous|lès|les|la|le|de|del|de la|de las|de los|du|des|do|da|dos|y|on|upon|under|of|the|los|las) "
    r"|-(?:sur|sous|lès|les|la|le|de|du|en|et|a)-)"
)
_CAPITAL = re.compile(r"[^\W\d_a-zß-öø-ÿ](?<![\w-].)")
_TOWN_HERE = re.compile(rf"{_CAP}(?:{_JOINT}{_CAP}){{0,4}}")
_TAIL_AFTER = re.compile(
    rf" (?:los (?:altos|bajos)|(?:Est|Ouest|Nord|Sud)\b|de (?:la|los|las) {_CAP}|del {_CAP}|sur {_CAP}|d[eoa]s? {_CAP}|upon {_CAP})"
    r"| (?:Falls|Heights|Creek|Mills|Springs|Beach|Park|City|Hills|Valley|Grove|Lake|Rapids|Harbor|Harbour|Village|Junction|Bay|Island|Bridge|Point|Airport|Country Club)\b"
)
# Tails that make a town of a name, too: `Joly am Albis`, `Rey (UR)`.
_SURE_TAIL = re.compile(
    rf" (?:los (?:altos|bajos)\b|(?:am|an der|im|in der|ob der|vor der) {_CAP}|\([A-Z]{{2}}\))"
)
_HEAD_START = re.compile(
    r"(?:San|Santa|Santo|São|Saint|Sainte|Nueva|Nuevo|Vieja|Viejo|Villa|Bad|Sankt)[ -]"
)
_RENAMED = re.compile(rf"(?:Nueva|Nuevo|Vieja|Viejo) {_CAP}(?: de {_CAP})?")
_HEAD_BEFORE = re.compile(
    r"(?<![\w'’-])(?:Lac|Lake|Port|New|North|South|East|West|Mount|Fort|Saint|Sainte|St\.?|Ste\.?|San|Santa|Santo|São|Villa|Ville|Baie|Mont|Nueva|Nuevo|Vieja|Viejo|Bad|Sankt|Alt|Neu|Old|Upper"
    r"|Lower|Ober|Unter|El|La|Las|Los|Le|Les|L['’]|Grand|Grande|Rio|Puerto|Monte|Castel|Castello|Borgo|Den|De|Nowy|Nowa|Stary|Gross|Groß|Klein)(?:-? |-)\Z"
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


_STATE_WORDS = frozenset(STATES.split("|")) | frozenset(re.findall(r"[A-Z][a-z]+", _STATE_NAMES))
_INSTITUTION_NAMES = """
Hospital Hospitals Center Clinic Centre Home Rehab Rehabilitation Hospice Infirmary Pharmacy University College Church School
Elementary Academy Manor Living System Shelter Prison Jail Synagogue Mosque Community Village County Parish Township Borough
Precinct Municipality
"""
_INSTITUTION_WORDS = frozenset(_INSTITUTION_NAMES.split())
_TAILS = """
falls heights creek hollow mills springs beach park city hills valley ridge grove lake river rapids harbor harbour port village
junction bay island point bridge ferry landing crossing corner corners green hill wood woods field fields ford
"""
_TOWN_TAILS = frozenset(_TAILS.split())
_HEADS = (
    "port fort lake new north south east west mount saint sainte st ste san santa el la los las upper lower great little old nueva nuevo vieja viejo "
    "villa ville baie mont bad sankt"
)
_TOWN_HEADS = frozenset(_HEADS.split())
_PATRONS_TEXT = """
mercy hope grace memorial general saint st mount sacred holy good samaritan providence regional baptist methodist
presbyterian lutheran trinity deaconess veterans county valley
"""
_PATRONS = frozenset(_PATRONS_TEXT.split())
_TITLE_STATES = frozenset(("MD", "PA", "MA", "DO", "OR", "IN", "ME", "OK", "HI", "MS"))


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
        if span and (is_state or fold_accents(before["town"]) in lexicon.towns()):
            yield span


def _town_span(found: re.Match[str], *, sure: bool) -> TextSpan | None:
    """Return the town that ends a run of capitalized words, without ordinary words before it."""
    words = list(_WORDS.finditer(found["town"]))
    offset = found.start("town")
    is_whole = (
        found.string[max(0, offset - 2) : offset] == ", "
        or fold_accents(found["town"]) in lexicon.towns()
    )
    while len(words) > 1 and not is_whole and lexicon.is_ordinary(fold_accents(words[0][0])):
        words.pop(0)
    if not words:
        return None
    town = fold_accents(found["town"][words[0].start() :])
    is_word = all(lexicon.is_ordinary(fold_accents(word[0])) for word in words)
    if town not in lexicon.towns() and (is_word or not sure):
        return None
    return TextSpan(offset + words[0].start(), offset + len(found["town"]), "B", "PLACE")


_TOWN_ENDS_TEXT = """
in near outside of at to from hometown is city town residence address county lives the village suburb outskirts area north south
east west downtown rural nearby greater around through via
"""
_TOWN_ENDS = frozenset(_TOWN_ENDS_TEXT.split())


def find_towns(text: str, language: str) -> Iterator[TextSpan]:
    """Return towns after `lives in` and the like, and known towns after a preposition."""
    yield from _find_clear_towns(text, language)
    yield from _find_announced_towns(text, language)
    last = 0
    for capital in _CAPITAL.finditer(text):
        start = capital.start()
        if start < last:
            continue
        before = word_before(text, start)
        is_elided = text[max(0, start - 2) : start] in ("d'", "d’", "D'", "D’")
        if before not in _TOWN_ENDS and before not in languages.PREPOSITIONS and not is_elided:
            continue
        found = _TOWN_HERE.match(text, start)
        if found is None:
            continue
        last = found.end()
        lives = _says_home(text, start, language)
        end = _end_of_known(found[0], language, before, lives=lives)
        if lives or (not end and _is_strange(text, found, language)):
            end = max(end, _end_of_town(found[0], language))
        if end:
            yield TextSpan(start, start + end, "B", "PLACE")


def _says_home(text: str, start: int, language: str) -> bool:
    """Return whether `lives in`, `wohnt in`, `habite à` or the like stands before `start`."""
    window = max(0, start - 64)
    if language in ("", "en") and _LIVES.search(text, window, start) is not None:
        return True
    return language != "en" and languages.PLACE_BEFORE.search(text, window, start) is not None


_TOWN_ONLY = re.compile(
    rf"\n[ \t>?•]{{0,8}}(?P<town>{_CAP}(?:{_JOINT}{_CAP}){{0,4}})[ \t,]{{0,3}}(?=\n|\Z)"
)


def _find_clear_towns(text: str, language: str) -> Iterator[TextSpan]:
    """Return `Nueva Armenia` and the like, and known towns that have a line to themselves, as in an address."""
    for found in _RENAMED.finditer(text) if "Nuev" in text or "Viej" in text else ():
        if text[max(0, found.start() - 2) : found.start()].strip(" ").islower():
            yield TextSpan(*found.span(), "B", "PLACE")
    for found in _TOWN_ONLY.finditer(text) if "\n" in text else ():
        plain = [fold_accents(word) for word in _WORDS.findall(found["town"])]
        if " ".join(plain) in lexicon.towns() and not lexicon.is_ordinary(plain[0], language):
            yield TextSpan(*found.span("town"), "B", "PLACE")


# `Geburtsort: Ummern`: after a label any capitalized word is a town, and at the head of a letter before the date.
_LABELLED_TOWN = re.compile(rf":[ \t]{{0,6}}(?P<town>{_CAP}(?:{_JOINT}{_CAP}){{0,4}})")
_TOWN_LABELS = (
    "place of birth", "birthplace", "place of residence", "town", "city", "geburtsort", "wohnort", "wohnsitz", " ort", "\nort", "lieu de naissance",
    "lieu de résidence", "ville", "commune", "lugar de nacimiento", "lugar de residencia", "localidad", "ciudad", "municipio", "población",
    "miejsce urodzenia", "miejscowość",
)  # fmt: skip
_DATELINE = re.compile(
    rf"(?:\A|\n)[ \t]{{0,8}}(?P<town>{_CAP}(?:{_JOINT}{_CAP}){{0,4}}), (?:den |le |a |the )?\d{{1,2}}(?:\.|st|nd|rd|th)? ?(?:de |/|-)?[\w]"
)


def _find_announced_towns(text: str, language: str) -> Iterator[TextSpan]:
    """Return towns after a label such as `Geburtsort:`, and before the date of a letter."""
    labelled = (
        found
        for found in _LABELLED_TOWN.finditer(text)
        if text[max(0, found.start() - 24) : found.start()].rstrip().lower().endswith(_TOWN_LABELS)
    )
    for found in (*labelled, *_DATELINE.finditer(text)):
        words = list(_WORDS.finditer(found["town"].rstrip(".'’-")))
        plain = [fold_accents(word[0]) for word in words]
        is_town = " ".join(plain) in lexicon.towns()
        if is_town or (not words[0][0].isupper() and not lexicon.is_everyday(plain[0], language)):
            start = found.start("town")
            yield TextSpan(start, start + words[-1].end(), "B", "PLACE")


def widen_place(text: str, span: TextSpan) -> TextSpan:
    """Return a place or a name with the words that make it a town: `Lake` Joshua, San Jorge `los altos`."""
    head = _HEAD_BEFORE.search(text, max(0, span.start - 12), span.start)
    is_place = span.kind == "B" or head is not None or _HEAD_START.match(text, span.start)
    tail = _SURE_TAIL.match(text, span.end)
    if (
        span.kind == "A"
        and tail
        and lexicon.is_everyday(fold_accents(tail[0].rsplit(" ", 1)[-1].strip(".")), "de")
    ):
        tail = None  # `Schimmel im Badezimmer`
    if tail is None and is_place:
        tail = _TAIL_AFTER.match(text, span.end)
    if head is None and tail is None:
        return span
    start = head.start() if head else span.start
    return TextSpan(start, tail.end() if tail else span.end, "B", "PLACE")


_NAMED_OF = re.compile(r"[^\W\d_a-z][\w'’-]{1,30} of \Z")
_GERMAN_TOWN = re.compile(
    r".{2,30}(?:itz|ow|berg|burg|dorf|hausen|heim|stadt|furt|bach|feld|ingen|kirchen|zig|tal|thal|see|au|bruck|brück|hagen|walde|rode|roda|leben|stedt|buttel|zabern|steig|hofen|weiler"
    r"|munde|moos|eck|nitz|lin|swalde|hafen|haven|born|brunn|ried|lau|stein|wil|ikon)"
)


def _is_strange(text: str, found: re.Match[str], language: str) -> bool:
    """Return whether a preposition stands before a word that no list knows, so that a town is likely."""
    start = found.start()
    before = word_before(text, start)
    if text[start - 1 : start] != " ":
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
    if language == "de":
        if _GERMAN_TOWN.fullmatch(plain) is not None:
            return before in _GERMAN_BEFORE and not lexicon.is_listed(plain, language)
        is_likely = before in _GERMAN_TOWARDS and not lexicon.is_everyday(plain, language)
        return is_likely and name_likeness(plain, language) > _UNLIKE
    if language not in ("", "en"):
        return False
    if before not in _ENGLISH_BEFORE and not (
        before == "of" and _NAMED_OF.search(text, max(0, start - 36), start)
    ):
        return False
    known = (lexicon.common_names(), lexicon.eponyms())
    return not lexicon.is_ordinary(plain) and not any(plain in names for names in known)


_ENGLISH_BEFORE = frozenset(("in", "from", "near", "at"))
_GERMAN_BEFORE = frozenset(("in", "aus", "nach", "bei", "von", "vor", "zwischen"))
_GERMAN_TOWARDS = frozenset(("in", "aus", "nach", "bei"))
_UNLIKE = -4.0  # logarithm of odds: no name at all, by its letters
_SURE_PREPOSITIONS_TEXT = """
in near at from outside aus nach à en desde hacia près
"""
_SURE_PREPOSITIONS = frozenset(_SURE_PREPOSITIONS_TEXT.split())


def _end_of_known(town: str, language: str, before: str, *, lives: bool) -> int:
    """Return where the longest known town at the start ends; 0 for none.

    A single everyday word must be where someone lives, and a person's name must follow a word
    that people do not follow.
    """
    words = list(_WORDS.finditer(town))
    plain = [fold_accents(word[0]) for word in words]
    for last in range(len(words), 0, -1):
        if " ".join(plain[:last]) not in lexicon.towns() or words[0][0].isupper():
            continue
        if last == 1 and lexicon.is_country(plain[0]):
            return 0
        is_sure = before in _SURE_PREPOSITIONS
        knows = lexicon.is_ordinary if is_sure else lexicon.is_everyday
        is_word = last == 1 and knows(plain[0], language)
        is_name = last == 1 and plain[0] in lexicon.common_names()
        if lives or (not is_word and (is_sure or not is_name)):
            return words[last - 1].end()
    return 0


_JOINED_TOWN = re.compile(
    r"[\w'’]{2,30}(?:-[\w'’]{2,30}){0,2}-(?:sur|sous|lès|les|la|le|de|du|en|et|aux?)-[\w'’-]{2,40}"
)


def _end_of_town(town: str, language: str) -> int:
    """Return where the name of an unknown town ends, 0 if the words are no town's name.

    `Cedar Hollow` and `Port Almsbury` have ordinary words in them, `Emergency Department` only such.
    """
    words = [word for word in _WORDS.finditer(town) if word[0][0].isupper()]
    plain = [fold_accents(word[0]) for word in words]
    joined = _JOINED_TOWN.match(town)
    if joined is not None:
        return joined.end()
    end = 0
    for number, word in enumerate(words):
        if word[0].isupper() and len(word[0]) > 1:
            break
        if _is_everyday(plain, number, language):
            break
        end = word.end()
    return 0 if end and plain[0] in _TOWN_TAILS and end == words[0].end() else end


def _is_everyday(plain: list[str], number: int, language: str) -> bool:
    """Return whether a word of a town's name is an everyday word that its neighbors make no town."""
    word = plain[number]
    is_headed = number > 0 and plain[number - 1] in _TOWN_HEADS
    if is_headed or word in _TOWN_TAILS or not _is_known_word(word, language):
        return False
    following = plain[number + 1] if number == 0 and len(plain) > 1 else ""
    if following and word in _TOWN_HEADS:
        return False
    return not following or (_is_known_word(following, language) and following not in _TOWN_TAILS)


def _is_known_word(word: str, language: str) -> bool:
    return lexicon.is_listed(word, language) or word in lexicon.everyday_words(language or "en")


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
