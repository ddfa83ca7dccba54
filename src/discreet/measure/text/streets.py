"""Street addresses of several countries, boxes, apartments, and postcodes with the towns beside them (B)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan

_CAP = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]{0,30}"
# Suffixes of streets in the United States (USPS Publication 28, appendix C1), and British ones.
_SUFFIX = (
    "Street|St|Avenue|Ave|Av|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Terrace|Ter|Circle|Cir|Way|Parkway|Pkwy"
    "|Highway|Hwy|Square|Sq|Trail|Trl|Alley|Crescent|Cres|Close|Mews|Turnpike|Tpke|Plaza|Loop|Row|Pike|Path|Walk|Commons"
    "|Crossing|Expressway|Heights|Hollow|Ridge|Landing|Run|Point|Approach|Rise|Parade|Quay|Wharf|Wynd|Esplanade|Embankment"
)
_RARE_SUFFIX = (
    "Annex|Arcade|Bayou|Beach|Bend|Bluffs?|Bottom|Branch|Bridge|Brooks?|Burgs?|Bypass|Camp|Canyon|Cape|Causeway|Centers?|Circles|Cliffs?|Club"
    "|Common|Corners?|Course|Courts|Coves?|Creek|Crest|Crossroads?|Curve|Dale|Dam|Divide|Drives|Estates?|Extensions?|Falls?|Ferry|Fields?|Flats?|Fords?"
    "|Forest|Forges?|Forks?|Fort|Freeway|Gardens?|Gateway|Glens?|Greens?|Groves?|Harbors?|Haven|Hills?|Inlet|Islands?|Isle|Junctions?|Keys?|Knolls?"
    "|Lakes?|Land|Lights?|Loaf|Locks?|Lodge|Mall|Manors?|Meadows?|Mills?|Mission|Motorway|Mount|Mountains?|Neck|Orchard|Oval|Overpass"
    "|Parks?|Parkways|Pass|Passage|Pines?|Plains?|Points|Ports?|Prairie|Radial|Ramp|Ranch|Rapids?|Rest|Ridges|River|Roads|Route|Rue|Shoals?|Shores?"
    "|Skyway|Springs?|Spurs?|Squares|Station|Stravenue|Stream|Streets|Summit|Throughway|Trace|Track|Trafficway|Tunnel|Underpass|Unions?"
    "|Valleys?|Via|Viaduct|Views?|Villages?|Ville|Vista|Walks|Ways|Wells?"
)
_UNIT = (
    r"(?:,? {0,2}(?:apt|apartment|unit|suite|ste|floor|fl|room|rm|lot|trailer|#)\.? ?#?[\w-]{1,6})?"
)
_NUMBER = r"\d(?<![\w./-]\d)\d{0,5}[A-Za-z]?(?:-\d{1,4})?,? {1,2}"
_STREET = re.compile(
    rf"{_NUMBER}(?:(?:[NSEW]|NE|NW|SE|SW)\.? )?"
    rf"(?:(?:{_CAP}|\d{{1,3}}(?:st|nd|rd|th)) ){{1,4}}?(?:{_SUFFIX}|{_SUFFIX.upper()})\b\.?(?: (?:{_SUFFIX})\b)?"
    rf"(?: (?:[NSEW]|NE|NW|SE|SW)\b\.?)?(?i:{_UNIT})"
)
_RARE_STREET = re.compile(
    rf"(?P<number>{_NUMBER})?(?P<name>{_CAP}) (?:{_RARE_SUFFIX})\b(?i:{_UNIT})"
)
_UNNUMBERED = re.compile(
    rf"(?P<name>{_CAP}(?: {_CAP})?) (?:[Ss]treet|[Aa]venue|Road|Lane|Boulevard|Drive|Highway|Parkway|Terrace|Crescent|St\.|Rd\.|Ave\.?|Blvd\.?)(?!\w)"
)
_PLAIN_STREET = re.compile(
    r"\d(?<![\w./-]\d)\d{0,5} (?!(?:minutes?|hours?|miles?|blocks?|years?|days?|weeks?|months?|feet|more|people|times|of|to|in|on|mg)\b)"
    r"(?:(?!(?:down|up|the|from|of|to|in|on|a|and|along)\b)[a-z]{3,20} ){1,3}?(?:street|avenue|boulevard|road|lane|st\.|ave\.|blvd|rd\.)(?!\w)"
    rf"(?i:{_UNIT})"
)
_HOUSE = r"(?: ?[A-Za-z](?![\w]))?(?: ?[-/] ?\d{1,4}[a-z]?)?(?!\w)"
# `Hauptstraße 12`, `Große Allee`, `Kerkstraat 3`, `Ringvägen 7`: the kind of street ends the word.
_ENDING_STREET = re.compile(
    rf"(?:{_CAP} )?[^\W\d_a-zß-öø-ÿ](?<!\w.)(?:[\w.'’-]{{2,40}}(?:(?<=straße)|(?<=strasse)|(?<=Straße)|(?<=Strasse)|(?<=str\.)|(?<=Str\.)|(?<=gasse)|(?<=Gasse)|(?<=allee)|(?<=Allee)|(?<=gatan)|(?<=vägen)"
    r"|(?<=straat)|(?<=gracht))(?![\w])(?:(?: |, )\d{1,4}[a-z]?" + _HOUSE + r")?"
    r"|[\w.'’-]{2,40}(?:(?<=weg)|(?<=Weg)|(?<=platz)|(?<=Platz)|(?<=ring)|(?<=Ring)|(?<=damm)|(?<=ufer)|(?<=markt)|(?<=steig)|(?<=stieg)|(?<=chaussee)|(?<=laan)|(?<=plein)|(?<=pad)|(?<=singel)|(?<=kade)|(?<=dreef)"
    r"|(?<=dijk)|(?<=hof)|(?<=torget)|(?<=gränd)|(?<=stigen)|(?<=berg)|(?<=wall)|(?<=graben)|(?<=zeile)|(?<=promenade)|(?<=siedlung)|(?<=park)|(?<=steeg)) \d{1,4}[a-z]?"
    + _HOUSE
    + r")"
    rf"|(?:Straße|Platz|Allee|Weg) (?:der|des|am|im|zum|zur) {_CAP}(?: {_CAP})?(?: \d{{1,4}}{_HOUSE})?"
    rf"|(?:Am|An der|An den|Im|In der|Zum|Zur|Auf der|Auf dem|Unter den|Hinter der|Beim) {_CAP}(?: {_CAP})? \d{{1,4}}[a-z]?(?!\w|[.,]\d| ?(?:mg|ml|Uhr|Jahre|Tage))"
)
_SMALL = r"(?:(?:de|du|des|del|della|dei|di|da|do|das|dos|la|las|le|les|lo|los|el|y|e|sur|sous|aux?|en) |d['’]|l['’]|dell['’]){0,4}"
_CAPS = r"[^\W\d_a-zß-öø-ÿ][\w'’.-]{1,30}"
_NAMES = rf"{_SMALL}{_CAPS}(?:(?:[ -]|-? (?:de|du|des|del|la|le|les|di|da|do|y|et) |-(?:de|du|des|la|le|les|et)-){_CAPS}){{0,4}}"
_DOOR = (
    r"(?:,? {0,2}(?:[nN][º°o]\.? ?)?\d{1,5}[a-z]?(?:[-/]\d{1,4})?(?![\w/])(?: \d{3}(?!\w))?| ?# ?\d[\dA-Z-]{0,8}|,? s/n\b)?"
    r"(?:,? {0,2}\d{1,2}[ºª°](?: ?(?:[A-Z](?!\w)|(?:izq|izda|dcha|dch|der)\b\.?))?|,? {0,2}(?:bajo|ático|entresuelo|entlo\.?|principal)\b(?: [A-Z](?!\w))?)?"
    r"(?:,? {0,2}(?:Piso|Puerta|Piano|Interior|Int\.|Edif\.|Apto?\.|Apt\.|Dpto\.|Depto\.|Bloque|Escalera|Esc\.|Appartamento|Of\.|Oficina|Bajo|App\.|Appt|Bât\.?|étage) ?[\w-]{0,6})?"
)
# `rue de la Paix 5`, `Calle Mayor, 3`, `Via Roma 12`: the kind of street comes first.
_LEADING_STREET = re.compile(
    r"(?:\d(?<![\w./-]\d)\d{0,4},? ?(?:bis|ter|quater)?,? {1,2})?\b"
    rf"(?:(?:rue|avenue|av\.|boulevard|bd|chemin|impasse|quai|allée|faubourg|ruelle|sentier|rang|montée|Rue|Avenue|Av\.|Boulevard|Bd|Chemin|Impasse|Quai|Allée|Faubourg"
    r"|calle|Calle|C/|c/|avenida|Avenida|Avda\.?|paseo|Paseo|Plaza|Pza\.?|Pl\.|Ronda|Camino|Carretera|Ctra\.?|Glorieta|Travesía|Cuesta|Callejón|Alameda|Rambla|Pasaje|Acceso|Cañada"
    r"|Urbanización|Urb\.|Pje\.|Psje\.|Bda\.|Barriada|Colonia|Col\.|Polígono|Vial|Privada|Eje vial|Periférico|Circuito|Calzada|Prolongación|Diagonal|Andador|Ampliación|Cerrada|Retorno|Corredor|Continuación|Circunvalación|Viaducto|Peatonal"
    r"|Via|Vía|Viale|Piazza|Piazzale|Corso|Largo|Vicolo|Strada|Borgo|Contrada|Canale|Stretto|Rotonda|Incrocio"
    r"|Rua|Travessa|Praça|Estrada|Rodovia|Ladeira|Esplanada|Viela|Loteamento|Residencial|Condomínio|ul\.|al\.|pl\.|os\.|aleja|plac)"
    rf" {{0,1}}{_NAMES}{_DOOR}"
    rf"|(?<=\d )(?:route|place|cours|square|passage|voie|Route|Place|Cours|Square|Passage|Voie|Campo|Lago|Jardim|Parque|Vila|Setor|Quadra|Sítio|Morro) {_NAMES}"
    rf"|(?<=\d, )(?:route|place|cours|square|passage|voie|Route|Place|Cours|Square|Passage|Voie) {_NAMES})"
)
# `Cra. 7 # 12-34`, `Av. carrera 55 # 22-27 Este`: streets that have numbers for names.
_NUMBERED_STREET = re.compile(
    r"\b(?:Cra?|Cl|Kr|Dg|Tv|Carrera|Calle|Avenida|Av|Diagonal|Transversal)\.?(?: (?:carrera|calle))? \d{1,3}[A-Z]{0,2}(?: (?:[Bb]is|Sur|Norte|Este|Oeste))?"
    r" ?(?:#|No\.?|N[°º]) ?\d[\dA-Z]{0,4}(?: ?- ?\d{1,3})?(?: (?:Sur|Norte|Este|Oeste))?"
)
_LEADING_WORDS_TEXT = """cr cra cl kr dg tv carrera transversal urb pje psje bda barriada colonia col polígono
rue avenue av boulevard bd chemin impasse quai allée faubourg ruelle sentier rang montée calle c avenida avda paseo plaza pza pl ronda
camino carretera ctra glorieta travesía cuesta callejón alameda rambla pasaje acceso cañada urbanización vial privada eje periférico
circuito calzada prolongación diagonal andador ampliación cerrada retorno corredor continuación circunvalación viaducto peatonal via vía
viale piazza piazzale corso largo vicolo strada borgo contrada canale stretto rotonda incrocio rua travessa praça estrada rodovia ladeira
esplanada viela loteamento residencial condomínio ul al os aleja plac route place cours square passage voie campo lago jardim parque vila
setor quadra sítio morro
"""
_LEADING_WORDS = frozenset(_LEADING_WORDS_TEXT.split())
_CLEAR_LEADING_WORDS = _LEADING_WORDS - frozenset(
    ("place", "route", "square", "passage", "via", "al", "os", "c", "pl", "diagonal", "interior")
)
# Ends of street names: the first say street by themselves, the others with a number after them.
_SURE_ENDS = (
    "straße",
    "strasse",
    "str.",
    "gasse",
    "allee",
    "gatan",
    "vägen",
    "straat",
    "gracht",
)
_NUMBERED_ENDS_TEXT = """
weg platz ring damm ufer markt steig stieg chaussee laan plein pad singel kade dreef dijk hof torget gränd stigen berg wall
graben zeile promenade siedlung park steeg
"""
_NUMBERED_ENDS = tuple(f"{ending} " for ending in _NUMBERED_ENDS_TEXT.split())
_AT_WORDS_TEXT = """
Am An Im In Zum Zur Auf Unter Hinter Beim
"""
_AT_WORDS = frozenset(_AT_WORDS_TEXT.split())
_BOX = re.compile(
    r"\bP\.? ?O\.? ?Box[ #]{0,2}\d{1,7}|\b(?:RR|Rural Route) ?#?\d{1,3},? Box \d{1,5}"
    r"|\b(?:Postfach|Apartado(?: de correos)?|Boîte postale|Casilla)[ .:]{1,2}\d{1,7}(?: \d{2})?",
    re.IGNORECASE,
)
_APARTMENT = re.compile(
    r"\b(?:(?i:apt|apartment|piso|puerta|interior|dpto)\.?|Flat|Studio|Suite|Unit) ?#?(?=\w{0,5}\d|[A-Z]\b)(?P<unit>[\w-]{1,6})(?!\w)"
)
_APARTMENT_WORDS_TEXT = """
apt apartment flat studio suite unit piso puerta interior dpto
"""
_APARTMENT_WORDS = frozenset(_APARTMENT_WORDS_TEXT.split())
_BOX_WORDS_TEXT = """
box postfach apartado postale casilla
"""
_BOX_WORDS = frozenset(_BOX_WORDS_TEXT.split())
_STREET_WORDS = frozenset(_SUFFIX.split("|")) | frozenset(_SUFFIX.upper().split("|"))
_RARE_WORDS = frozenset(
    form
    for word in _RARE_SUFFIX.split("|")
    for form in ((word.removesuffix("s?"), word.removesuffix("?")) if "?" in word else (word,))
)
_PLAIN_WORDS = frozenset(
    ("street", "avenue", "boulevard", "road", "lane", "st", "ave", "blvd", "rd")
)

_TOWN = rf"{_CAP}(?:(?:(?:(?<!\.)|(?<=St\.)) |-|/| (?:an der|am|im|in der|in|ob der|bei|vor der|sur|sous|lès|les|la|le|de|del|de la|de los|do|da|dos|y|on|upon) |-(?:sur|sous|lès|les|la|le|de|du|en|et)-){_CAP}){{0,4}}"
_ZIP = re.compile(
    r"\b(?:zip(?:[ -]?code)?|postal code|postcode|plz|postleitzahl|code postal|c\.?p\.?|código postal|codigo postal)(?: (?:is|of|es|est|ist))?[ :]{1,3}(?P<zip>\d{5}(?:-\d{4})?|\d{4,6}|\d{2}-\d{3})(?!\w)",
    re.IGNORECASE,
)
_ZIP_PLUS = re.compile(r"\d(?<![\w./-]\d)\d{4}-\d{4}(?![\w-])")
_POSTCODE = re.compile(
    r"[A-Z](?<!\w.)(?:[A-Z]?\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}|[A-Z]?\d{1,2}[A-Z]? \d[ABD-HJLNP-UW-Z]{2}|\d[A-Z] ?\d[A-Z]\d)(?!\w)"
)
STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC"
    "|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|PR"
)
_CODED_TOWN = re.compile(
    rf"(?P<code>(?:[A-Z]{{1,2}}-)?\d(?<![\w./,+-]\d)(?:\d{{4,6}}|\d{{3}}|\d-\d{{3}}|\d{{3}} ?[A-Z]{{2}}|\d{{2}} \d{{2}}|\d{{4}}-\d{{3}}))(?:,? {{1,2}}|\n)(?P<town>{_TOWN})"
)
_CODE_AFTER = re.compile(
    r"\d(?<![\w./]\d)\d{4,5}(?:-\d{3,4})?(?![\w./]|,\d| ?(?:mg|ml|units?|IU|UI|Euro|EUR|cells))"
)
_TOWN_BEFORE = re.compile(rf"(?P<town>{_TOWN})(?:,? |,? (?!(?:{STATES}) )[A-Z]{{2,3}} |-)\Z")
_COUNTRY_CODE = re.compile(
    r"\b(?:United States|USA|Canada|Mexico|México|Brazil|Brasil|Germany|Deutschland|France|Spain|España|Italy|Italia|India|Poland|Polska|Sweden|Sverige|Netherlands|Nederland|Austria"
    r"|Österreich|Switzerland|Schweiz|Suisse|Belgium|Belgique|Portugal|Ireland|Norway|Denmark|Finland|Australia)(?:,? |\n)(?P<code>\d{4,6}(?: ?[A-Z]{2})?|\d{2}-\d{3}|\d{5}-\d{3,4}|\d{3} \d{2})(?![\w./])"
)
_COUNTRIES_TEXT = """
states usa canada mexico méxico brazil brasil germany deutschland france spain españa italy italia india poland polska sweden sverige
netherlands nederland austria österreich switzerland schweiz suisse belgium belgique portugal ireland norway denmark finland australia
"""
_COUNTRIES = frozenset(_COUNTRIES_TEXT.split())
_GAP = re.compile(
    r"(?:[ \t]{0,3}[,;·|/][ \t\n>?]{0,6}|[ \t]{0,3}\n[ \t\n>?]{0,8}| (?=\d{4,6}\b)| \()"
)
_UNIT_LINE = re.compile(
    r"(?:Apt|Apartment|Suite|Ste|Unit|Flat|Studio|Piso|Puerta|Interior|Int|Edif|Appartamento|Appt|App|Bloque|Esc|Wohnung|Whg|\d{1,3}(?:\.|st|nd|rd|th|º|er|e|ème)? (?:floor|Etage|OG|étage|Stock|piso))\b\.? ?[\w-]{0,6}"
)
_CODE_LINE = re.compile(
    r"(?:[A-Z]{1,2}-)?(?:\d{5}(?:-\d{3,4})?|\d{4}(?: ?[A-Z]{2}\b)?|\d{2}-\d{3}|\d{3} \d{2}|\d{6}|\d{8})(?![\w/]|[.,]\d)"
)
_TOWN_LINE = re.compile(_TOWN)
_SHORT_END = re.compile(r"\b(?:St|Ave?|Rd|Blvd|Ln|Dr|Ct|Pl|[Ss]tr)\.\Z|str\.\Z")
_LINE_END = re.compile(r" ?(?:[,\n(]|\Z|\d|[A-Z]{2,3}\b)")
_PROVINCE = re.compile(r" {0,1}\((?P<province>[A-Z]{2})\)")
_WORDS = re.compile(r"[^\W\d_][\w'’]{0,40}")
_STEPS = 5


def find_street_addresses(
    text: str, lower: str, written: set[str], words: set[str], language: str
) -> Iterator[TextSpan]:
    """Return street addresses, boxes and apartments, and the towns and postcodes after them.

    `lower` and `words` are the text and its distinct words in lower case, `written` the words as
    they are written: patterns run only where one of their words occurs.
    """
    for start, end in _find_streets(text, lower, written, words, language):
        yield TextSpan(start, end, "B", "PLACE")
        yield from _follow_address(text, end, language)
    if not words.isdisjoint(_BOX_WORDS):
        for found in _BOX.finditer(text):
            yield TextSpan(*found.span(), "B", "PLACE")
            yield from _follow_address(text, found.end(), language)
    if not words.isdisjoint(_APARTMENT_WORDS):
        for found in _APARTMENT.finditer(text):
            yield TextSpan(*found.span(), "B", "PLACE")


def _find_streets(
    text: str, lower: str, written: set[str], words: set[str], language: str
) -> Iterator[tuple[int, int]]:
    if not written.isdisjoint(_STREET_WORDS) or "street" in words:
        yield from (found.span() for found in _STREET.finditer(text) if not _ends_with_title(found))
        yield from (
            found.span()
            for found in _UNNUMBERED.finditer(text)
            if not lexicon.is_ordinary(fold_accents(found["name"].split(" ")[0]))
        )
    if not written.isdisjoint(_RARE_WORDS):
        yield from (found.span() for found in _RARE_STREET.finditer(text) if _is_street(found))
    if not words.isdisjoint(_PLAIN_WORDS):
        yield from (found.span() for found in _PLAIN_STREET.finditer(text))
    if not words.isdisjoint(_LEADING_WORDS if language != "en" else _CLEAR_LEADING_WORDS):
        yield from (found.span() for found in _LEADING_STREET.finditer(text))
        yield from (found.span() for found in _NUMBERED_STREET.finditer(text))
    if _may_end_street(lower, written):
        yield from (
            found.span() for found in _ENDING_STREET.finditer(text) if _is_ending_street(found)
        )


def _may_end_street(lower: str, written: set[str]) -> bool:
    """Return whether a word that ends a street's name, or `Am` and the like, is in the text at all."""
    return (
        any(ending in lower for ending in _SURE_ENDS)
        or any(ending in lower for ending in _NUMBERED_ENDS)
        or not written.isdisjoint(_AT_WORDS)
    )


def _ends_with_title(found: re.Match[str]) -> bool:
    """Return whether `Dr.` before a name is a title, not a drive."""
    return found[0].endswith("Dr.") and _NAME_AFTER.match(found.string, found.end()) is not None


_NAME_AFTER = re.compile(r" (?:[^\W\d_a-z]|\x00)")  # a name may have been found before
_LINE_START = re.compile(r"(?:\A|[,:;(\n]|\bwohnhaft|\bAdresse|\bAnschrift)[ \t]{0,3}\Z")


def _is_ending_street(found: re.Match[str]) -> bool:
    """Return whether `Am Hang 3` names a street, which `Im Jahr 2020` does not, nor `During 1987`.

    `Im Tal 8` is one, too, where an address stands: between commas, or on a line of its own.
    """
    words = found[0].split(" ")
    if words[0] not in _AT_WORDS:
        return not lexicon.is_listed(words[0].lower())
    if not lexicon.is_listed(fold_accents(words[-2]), "de"):
        return True
    text, start = found.string, found.start()
    is_alone = text[found.end() : found.end() + 1] in ("", ",", "\n", ")")
    is_year = len(words[-1]) == 4 and words[-1].isdigit()
    return (
        is_alone and not is_year and _LINE_START.search(text, max(0, start - 12), start) is not None
    )


def _is_street(found: re.Match[str]) -> bool:
    """Return whether a name before `Points`, `Burgs` and the like makes them a street."""
    name = fold_accents(found["name"].rstrip("."))
    if found["name"].isupper():
        return False
    if lexicon.is_ordinary(name):
        ends_line = found.end() == len(found.string) or found.string[found.end()] in ",\n"
        has_unit = found[0][-1].isdigit()
        return found["number"] is not None and (ends_line or has_unit)
    return found["number"] is not None or name not in lexicon.eponyms()


def _follow_address(text: str, position: int, language: str) -> Iterator[TextSpan]:
    """Return what stands after a street or a box: apartment, postcode, town and province."""
    after_code = text[position - 4 : position].isdigit()
    if text[position - 1] == "." and not _SHORT_END.search(text, max(0, position - 6), position):
        return
    for _ in range(_STEPS):
        gap = _GAP.match(text, position)
        if gap is None and not after_code:
            return
        position = gap.end() if gap else position + (text[position : position + 1] == " ")
        is_line = gap is not None and "\n" in gap[0]
        found = _UNIT_LINE.match(text, position) or _CODE_LINE.match(text, position)
        if found is not None:
            after_code = found[0][0].isdigit() or "-" in found[0]
            yield TextSpan(*found.span(), "B", "PLACE")
            position = found.end()
            continue
        town = _TOWN_LINE.match(text, position)
        end = _end_of_line_town(text, town, language) if town else 0
        if end <= position or (is_line and not _LINE_END.match(text, end)):
            return
        yield TextSpan(position, end, "B", "PLACE")
        province = _PROVINCE.match(text, end)
        position = province.end() if province else end
        after_code = False


def _end_of_line_town(text: str, town: re.Match[str], language: str) -> int:
    """Return where a town after a street or a postcode ends; 0 if everyday words stand there."""
    end = town.start() + len(town[0].rstrip(".'’-"))
    if text[end : end + 1] == ":":
        return 0
    words = _WORDS.findall(text[town.start() : end])
    plain = [fold_accents(word) for word in words]
    if (
        not plain
        or (words[0].isupper() and len(words[0]) < 4)
        or plain[0] in ("dr", "mr", "mrs", "ms", "herr", "frau", "tel", "fax", "phone")
    ):
        return 0
    if " ".join(plain) in lexicon.towns():
        return end
    if all(lexicon.is_ordinary(word, language) for word in plain):
        return 0
    return end


def find_postcodes(text: str, words: set[str], language: str) -> Iterator[TextSpan]:
    """Return postcodes that a word, a town beside them or their form gives away."""
    if not words.isdisjoint(("zip", "zipcode", "postal", "postcode", "plz", "postleitzahl", "cp")):
        for found in _ZIP.finditer(text):
            is_zip = len(found["zip"]) in (5, 10) and not words.isdisjoint(("zip", "zipcode"))
            label = ("ZIP", found["zip"][:3]) if is_zip else ("PLACE", "")
            yield TextSpan(*found.span("zip"), "B", *label)
    for found in _ZIP_PLUS.finditer(text):
        yield TextSpan(*found.span(), "B", "ZIP", found[0][:3])
    for found in _POSTCODE.finditer(text):
        if " " in found[0] or len(found[0]) > 5:
            yield TextSpan(*found.span(), "B", "PLACE")
    if not words.isdisjoint(_COUNTRIES):
        for found in _COUNTRY_CODE.finditer(text):
            yield TextSpan(*found.span("code"), "B", "PLACE")
    yield from _find_coded_towns(text, language)


def _find_coded_towns(text: str, language: str) -> Iterator[TextSpan]:
    """Return towns with their postcode before or after them: `83873 Lemgo`, `Cuenca, 08175`."""
    for found in _CODED_TOWN.finditer(text):
        is_sure = len(found["code"]) > 4 and text[found.end("code")] != ","
        end = _end_of_known_town(found["town"], language, is_sure=is_sure)
        if end:
            yield TextSpan(found.start("code"), found.start("town") + end, "B", "PLACE")
    for code in _CODE_AFTER.finditer(text):
        found = _TOWN_BEFORE.search(text, max(0, code.start() - 48), code.start())
        start = _start_of_known_town(found["town"], language) if found else -1
        if found and start >= 0:
            yield TextSpan(found.start("town") + start, code.end(), "B", "PLACE")


def _start_of_known_town(town: str, language: str) -> int:
    """Return where a known town at the end of `town` begins; -1 for none."""
    words = list(_WORDS.finditer(town))
    plain = [fold_accents(word[0]) for word in words]
    for first in range(len(words)):
        is_word = first == len(words) - 1 and lexicon.is_ordinary(plain[first], language)
        if " ".join(plain[first:]) in lexicon.towns() and not is_word:
            return words[first].start()
    return -1


def _end_of_known_town(town: str, language: str, *, is_sure: bool) -> int:
    """Return where a known town at the start of `town` ends, or an unknown one if the code is sure."""
    words = list(_WORDS.finditer(town))
    plain = [fold_accents(word[0]) for word in words]
    for last in range(len(words), 0, -1):
        is_word = last == 1 and lexicon.is_ordinary(plain[0], language)
        if " ".join(plain[:last]) in lexicon.towns() and not is_word:
            return words[last - 1].end()
    if not is_sure or not plain or not words[0][0].istitle() or len(plain[0]) < 4:
        return 0
    if lexicon.is_ordinary(plain[0], language):
        return 0
    return len(town.rstrip(".'’-"))
