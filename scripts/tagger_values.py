"""Texts made of the templates of `scripts/tagger_texts`: the values of their slots, in four languages."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from discreet.measure.text import lexicon, tagger

LANGUAGES = ("en", "de", "fr", "es")


@dataclass(frozen=True)
class Example:
    """A text with the class of each of its identifiers; class -1 is unknown."""

    language: str
    text: str
    spans: tuple[tuple[int, int, int], ...]
    source: str


_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_CLASS_OF_SLOT = {
    **dict.fromkeys(["n", "n2", "f", "l", "lf", "lf2", "i", "in", "nl", "N", "L"], 1),
    **dict.fromkeys(["c", "s", "z", "zc", "h"], 2),
    **dict.fromkeys(["k", "id", "p", "sc", "u"], 3),
}
_COUNTRIES = {
    "en": ["US", "GB", "IE", "AU", "CA", "NZ", "IN", "NG", "PH", "ZA", "KE", "PL"],
    "de": ["DE", "AT", "CH", "DE", "AT", "TR", "PL", "HR", "IT", "RU", "BA"],
    "fr": ["FR", "BE", "CH", "CA", "FR", "MA", "DZ", "SN", "PT", "TN", "VN"],
    "es": ["ES", "MX", "AR", "CO", "CL", "PE", "ES", "VE", "EC", "UY", "RO"],
}
_PLATE_FORMS = {
    "en": ["??## ???", "??##???", "?### ???", "???-####", "??? ####", "### ???", "###-???", "#??? ###", "#???###", "??? ##?", "##-?-####",
           "##-??-####", "???? ###", "??##?? ####", "??# ???", "?## ???", "??? ###", "??-#####", "???###", "## ??? ##"],
    "de": ["?-?? ###", "?-?? ####", "?? ?? ###", "??-? ###", "???-?? ##", "??-?? ###E", "?-???#", "? ?? ####", "??-?####", "W-#####?", "?? ###??",
           "??-###??", "?? ######", "?? ### ###", "ZH ######", "BE #####", "???-? ####", "??-?? ##H"],
    "fr": ["??-###-??", "?? ### ??", "??###??", "### ??? ##", "#### ?? ##", "##-???-##", "#-???-###", "???-###", "?? ######", "VD ######", "### ??? ###"],
    "es": ["#### ???", "####???", "####-???", "?-####-??", "?? #### ?", "?? ### ??", "???-##-##", "???-###", "??? ###", "????-##", "???? ##", "??-##-###",
           "??###??", "???-###-?"],
}  # fmt: skip
_IDENTIFIERS = {
    "en": ["#######", "########", "??######", "?#######", "###-##-####", "### ### ####", "?? ## ## ## ?", "??######?", "##-######", "####/####", "H######",
           "??-####-####", "#########", "###/##/####", "??/####/##", "CLM-######", "#### #### ####", "?##-#####", "######", "####-??", "GB## ???? #### #### #### ##"],
    "de": ["########", "##########", "?#########", "## ###### ? ###", "## ### ### ###", "###/##", "## ? ###/##", "#-####-##", "KD-######", "DE## #### #### #### #### ##",
           "?####?#?##", "####-######", "?? ######", "756.####.####.##", "### ######", "#######", "##/#####", "F-####-###", "######-##"],
    "fr": ["# ## ## ## ### ### ##", "###############", "########", "##########", "##/#####", "FR## #### #### #### #### #### ###", "##??#####", "????-######", "###.###.###",
           "?#######", "#######", "######", "##/###", "N-######", "## ## ## ###"],
    "es": ["########?", "########-?", "?#######?", "?-#######-?", "###/####", "## #######", "#######", "ES## #### #### ## ##########", "##.###.###-#", "????######??????##",
           "####-######", "## ##########", "## ## #####", "######", "??-#####", "####/##", "?######"],
}  # fmt: skip
_DECOYS = [
    "??-###",
    "###?",
    "?##",
    "#####",
    "????##",
    "?? ###",
    "##-???",
    "0x####",
    "#.#.##",
    "??####",
    "???-##",
    "ISO #####",
    "?#/##",
]
_PHONES = {
    "en": ["0#### ######", "(###) ###-####", "###-###-####", "07### ######", "+44 #### ######", "+1 ### ### ####", "0# #### ####", "0#########", "ext. ####", "### ####"],
    "de": ["0#### ######", "0###/######", "+49 ### #######", "(0####) ####", "0### #######", "0#########", "0664 ### ## ##", "+41 ## ### ## ##", "0####-####"],
    "fr": ["0# ## ## ## ##", "0#.##.##.##.##", "0#########", "+33 # ## ## ## ##", "0### ## ## ##", "+32 ### ## ## ##", "0#-##-##-##-##", "poste ####"],
    "es": ["6## ### ###", "9## ## ## ##", "9########", "+34 ### ### ###", "+52 ## #### ####", "### ### ####", "(##) ####-####", "6########", "ext. ###"],
}  # fmt: skip
_DATES = {
    "en": ["##/##/20##", "# March 20##", "May #, 20##", "Tuesday", "##/##", "20##-0#-0#", "#th June", "Mon 2# Nov"],
    "de": ["#.#.20##", "0#.0#.20##", "1#. März 20##", "Montag", "2#.1#.", "im Mai 20##", "Dienstag, #. Juli"],
    "fr": ["0#/0#/20##", "1# mars 20##", "lundi", "0#/1#", "le # mai", "0#.0#.##"],
    "es": ["0#/0#/20##", "1# de marzo de 20##", "lunes", "#-#-20##", "# de mayo", "0#/##"],
}  # fmt: skip
_STREETS = {
    "en": ["{#} {L} Street", "{#} {L} Road", "Flat {#}, {#} {L} Court", "{#} {L} Ave, Apt {#}", "{#} {T} Lane", "The {L} House, {T} Road", "{#} {L} Close", "{#}a {W} Way", "{#} N {L} St",
           "{#} {W} Terrace", "PO Box {#}", "{W} Cottage, {T}", "{#} Old {T} Rd", "Unit {#}, {L} Park"],
    "de": ["{L}straße {#}", "{L}weg {#}", "{T}er Straße {#}", "Am {W} {#}", "An der {W} {#}", "{W}gasse {#}a", "{L}str. {#}", "{F}-{L}-Straße {#}", "{L}platz {#}/{#}", "Im {W} {#}", "{W}allee {#}",
           "Zum {W} {#}", "Alte {W} {#}", "Postfach {#}", "{T}er Str. {#}", "{W}ring {#}"],
    "fr": ["{#} rue {F} {L}", "{#}, rue de la {W}", "{#} avenue du Général {L}", "{#} bis chemin des {W}", "{#} impasse {L}", "{#}, boulevard {L}", "Rue de {T} {#}", "{#} place de l'Église", "route de {T} {#}",
           "Résidence {L}, bâtiment {#}", "{#} allée des {W}", "lieu-dit {T}", "{#} quai {L}"],
    "es": ["C/ {L}, {#}", "Calle {F} {L}, {#}, {#}º {#}", "Avenida de {T} {#}", "Avda. {L} {#}, {#}ºB", "Plaza de la {W} {#}", "Paseo de {L}, {#}", "Calle del {W} {#}", "Carrera {#} # {#}-{#}", "Camino de {T} s/n",
           "Av. {L} {#}", "Ronda de {T}, {#}, bajo", "Urbanización {W}, {#}", "Calle {W}, {#}"],
}  # fmt: skip
_HOSPITALS = {
    "en": ["{T} General Hospital", "St {F}'s Hospital", "{L} House", "{T} Infirmary", "Royal {T} Hospital", "{L} Medical Center", "Mount {L} Clinic"],
    "de": ["Klinikum {T}", "St.-{F}-Krankenhaus", "Universitätsklinikum {T}", "Kreiskrankenhaus {T}", "{L}-Klinik", "Seniorenheim {T}"],
    "fr": ["hôpital {L}", "CHU de {T}", "clinique Saint-{F}", "Hôpital {F}-{L}", "EHPAD {L}", "centre hospitalier de {T}"],
    "es": ["Hospital de {T}", "Hospital {F} {L}", "Clínica {L}", "Hospital San {F}", "Centro de Salud {T}", "Hospital General de {T}"],
}  # fmt: skip
_POSTCODES = {
    "en": ["??# #??", "#####", "??## #??", "####", "?#? #?#"],
    "de": ["#####", "####", "D-#####", "A-####", "CH-####"],
    "fr": ["#####", "####", "F-#####", "H#? #?#"],
    "es": ["#####", "0####", "C.P. #####"],
}
_MISTERS = {
    "fr": ["M.", "Mme", "Monsieur", "Madame", "Mlle", "M", "MME"],
    "es": ["Sr.", "Sra.", "D.", "Dña.", "don", "doña", "la señora", "el señor"],
}
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


class Filler:
    """Values for the slots of one language."""

    def __init__(self, language: str, names: dict[str, dict[str, list[str]]]) -> None:
        self.language, self.names = language, names
        self.chance = random.Random(f"tagger {language}")
        self.long = {
            "given": sorted(lexicon._unpack("given")), "family": sorted(lexicon._unpack("family")),
        }  # fmt: skip
        self.everyday = sorted(
            w for w in lexicon._unpack(f"everyday_{language}") if 4 <= len(w) <= 16
        )
        self.towns = sorted(lexicon._unpack("towns"))
        self.big = sorted(lexicon.cities())
        self.drugs = sorted(w for w in lexicon.drugs() if w.isalpha() and 5 < len(w) < 15)
        town_chance = random.Random(f"towns {language}")
        likely = sorted(
            self.towns,
            key=lambda town: (
                -tagger.name_likeness(town.split()[0], language) + 3 * town_chance.random()
            ),
        )
        self.local = likely[: len(likely) // 2]

    def fill(self, template: str) -> Example:
        """Return a text made of a template."""
        plain = _CHOICE.sub(lambda m: self.chance.choice(m[1].split("|")), template).replace(
            "\\n", "\n"
        )
        text, done, spans = "", 0, []
        for slot in _SLOT.finditer(plain):
            text += plain[done : slot.start()]
            value, done = self.value(slot[1]), slot.end()
            kind = _CLASS_OF_SLOT.get(slot[1])
            if kind:
                spans.append((len(text), len(text) + len(value), kind))
            text += value
        return Example(self.language, text + plain[done:], tuple(spans), "templates")

    def value(self, slot: str) -> str:
        """Return a value for a slot."""
        return getattr(self, f"_make_{slot}")()

    def _pick(self, kind: str) -> str:
        draw = self.chance.random()
        if kind == "family" and draw < 0.05:
            return self.chance.choice(self.everyday).capitalize()
        if draw < 0.3:
            word = self.chance.choice(self.long[kind]).title()
            return word if draw > 0.03 else misspell(word, self.chance)
        for _ in range(9):
            found = self.names[kind].get(self.chance.choice(_COUNTRIES[self.language]))
            if found:
                return self.chance.choice(found)
        return self.chance.choice(self.long[kind]).title()

    def _make_f(self) -> str:
        one = self._pick("given")
        return f"{one}-{self._pick('given')}" if self.chance.random() < 0.04 else one

    def _make_l(self) -> str:
        one, draw = self._pick("family"), self.chance.random()
        if draw < 0.05:
            return f"{one}-{self._pick('family')}"
        if draw < 0.08:
            return f"{self.chance.choice(['van', 'von', 'de', 'de la', 'del', 'van der', 'El', 'Ben', 'Al'])} {one}"
        return one

    def _make_n(self) -> str:
        draw = self.chance.random()
        if self.language == "es" and draw < 0.4:
            return self._make_n2()
        middle = f" {self.chance.choice(_LETTERS)}." if draw > 0.93 else ""
        return f"{self._make_f()}{middle} {self._make_l()}"

    def _make_n2(self) -> str:
        return f"{self._make_f()} {self._pick('family')} {self._pick('family')}"

    def _make_lf(self) -> str:
        return f"{self._make_l()}{self.chance.choice([', ', ', ', ' ', ','])}{self._make_f()}"

    def _make_lf2(self) -> str:
        return f"{self._pick('family')} {self._pick('family')}, {self._make_f()}"

    def _make_i(self) -> str:
        return f"{self.chance.choice(_LETTERS)}. {self._make_l()}"

    def _make_in(self) -> str:
        return f"{self.chance.choice(_LETTERS)}{self.chance.choice(['.', ''])}{self.chance.choice(_LETTERS)}{self.chance.choice(['.', ''])}"

    def _make_nl(self) -> str:
        return self._make_n().lower() if self.chance.random() < 0.7 else self._make_f().lower()

    def _make_N(self) -> str:  # noqa: N802
        return self._make_n().upper()

    def _make_L(self) -> str:  # noqa: N802
        return self._make_l().upper()

    def _make_c(self) -> str:
        draw = self.chance.random()
        town = self.chance.choice(
            self.big if draw < 0.15 else self.local if draw < 0.8 else self.towns
        )
        words = town.split()
        small = {
            "de",
            "la",
            "las",
            "los",
            "del",
            "le",
            "les",
            "el",
            "an",
            "am",
            "der",
            "sur",
            "sous",
            "en",
            "on",
            "of",
            "upon",
            "y",
            "bei",
            "im",
        }
        between = "-" if self.language == "fr" and len(words) > 1 else " "
        return between.join(w if w in small and n else w.capitalize() for n, w in enumerate(words))

    def _fill_form(self, form: str) -> str:
        values = {"#": lambda: str(self.chance.randrange(1, 180)), "L": lambda: self._pick("family"), "F": lambda: self._pick("given"),
                  "T": self._make_c, "W": lambda: self.chance.choice(self.everyday).capitalize()}  # fmt: skip
        return re.sub(r"\{(.)\}", lambda m: values[m[1]](), form)

    def _make_s(self) -> str:
        return self._fill_form(self.chance.choice(_STREETS[self.language]))

    def _make_h(self) -> str:
        return self._fill_form(self.chance.choice(_HOSPITALS[self.language]))

    def _make_z(self) -> str:
        return self._draw(self.chance.choice(_POSTCODES[self.language]))

    def _make_zc(self) -> str:
        return f"{self._make_z()} {self._make_c()}"

    def _draw(self, form: str) -> str:
        digits = re.sub("#", lambda _: str(self.chance.randrange(10)), form)
        return re.sub(r"\?", lambda _: self.chance.choice(_LETTERS), digits)

    def _make_k(self) -> str:
        language = self.language if self.chance.random() < 0.75 else self.chance.choice(LANGUAGES)
        plate = self._draw(self.chance.choice(_PLATE_FORMS[language]))
        return plate.lower() if self.chance.random() < 0.03 else plate

    def _make_id(self) -> str:
        return self._draw(self.chance.choice(_IDENTIFIERS[self.language]))

    def _make_x(self) -> str:
        return self._draw(self.chance.choice(_DECOYS))

    def _make_p(self) -> str:
        return self._draw(self.chance.choice(_PHONES[self.language]))

    def _make_d(self) -> str:
        return self._draw(self.chance.choice(_DATES[self.language]))

    _make_dm = _make_d

    def _make_e(self) -> str:
        return f"{self._make_f().lower()}.{self._pick('family').lower()}@{self.chance.choice(['mail.com', 'web.net', 'post.org'])}".replace(
            " ", ""
        )

    def _make_u(self) -> str:
        return self._make_f().lower() + self._draw("##")

    def _make_sc(self) -> str:
        return self._draw("##-##-##")

    def _make_a(self) -> str:
        return str(self.chance.randrange(3, 88))

    def _make_y(self) -> str:
        return str(self.chance.randrange(2, 11))

    _make_b = _make_a

    def _make_W(self) -> str:  # noqa: N802
        word = self.chance.choice(self.everyday)
        is_noun = self.language == "de" or self.chance.random() < 0.55
        return word.capitalize() if is_noun else word

    def _make_D(self) -> str:  # noqa: N802
        return self.chance.choice(self.drugs).capitalize()

    def _make_M(self) -> str:  # noqa: N802
        return self.chance.choice(_MISTERS[self.language])


def misspell(word: str, chance: random.Random) -> str:
    """Return a word with a letter left out, doubled or exchanged."""
    if len(word) < 5:
        return word
    place = chance.randrange(1, len(word) - 1)
    return chance.choice((word[:place] + word[place + 1 :], word[:place] + word[place] + word[place:],
                          word[:place] + word[place + 1] + word[place] + word[place + 2 :]))  # fmt: skip
