"""Texts with labelled identifiers, in four languages and eighteen locales: templates of `bench/texts` filled by Faker.

Run by the Python of the environment `evaluation`: `evaluation_texts.py OUTPUT.jsonl`. Each line has `language`, `locale`,
`genre`, `text` and `spans`, a list of start, end and class. Always the same texts, for the versions of the lock file.
"""

import json
import random
import re
import sys
import unicodedata
from datetime import date, timedelta
from pathlib import Path

from faker import Faker

SEED = 41507
FILLED = 6  # how often each template is filled
FOLDER = Path("bench/texts")
SLOT = re.compile(r"\{(\w+)\}")

MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
SAINTS = {
    "en": ("St. Brigid's", "St Columba's", "Holy Cross", "Queen Alexandra", "Mount Carmel"),
    "de": ("St. Elisabeth",),
    "fr": ("Saint-Camille", "Sainte-Anne", "Notre-Dame", "Lapeyronie", "Saint-Éloi"),
    "es": ("San Rafael", "Virgen del Mirón", "Santa Bárbara", "Nuestra Señora de Sonsoles"),
}
REAL_STREETS = {
    "en": ("14 Church Lane", "Flat 2, 9 Victoria Terrace", "207 Elm St", "1180 N Lincoln Avenue, Apt 3B",
           "3 The Green", "56 Harbour View Road", "Unit 7, 21 Bourke Crescent", "88 Old Mill Rd"),
    "de": ("Hauptstraße 12", "Am Mühlbach 3", "Lindenallee 45a", "An der alten Schmiede 7", "Bahnhofstr. 101",
           "Breite Gasse 6/2", "Im Winkel 19", "Dr.-Eckener-Weg 8"),
    "fr": ("12 rue des Lilas", "3 bis, impasse du Moulin", "47 boulevard Gambetta", "8 chemin des Vignes",
           "Rue de la Gare 15", "5, place de l'Église", "22 quai Saint-Bernard", "route de Lausanne 31"),
    "es": ("C/ Mayor 5, 2º B", "Avenida de la Constitución 34", "Calle del Pozo, 18", "Plaza de España 3",
           "Paseo Marítimo 112, 4º izq.", "Carrera 7 # 45-12", "Av. Libertador 2240", "Camino Viejo s/n"),
}  # fmt: skip
# For each locale: towns, villages, formats of phones (# is a digit) and of plates (? is a letter),
# of the number that the state or the insurer gives, and of accounts where there is no IBAN.
COUNTRIES = {
    "en_US": {
        "towns": "Chattanooga,Duluth,Spokane,Fort Wayne,Baton Rouge,El Paso,Worcester,Tulsa",
        "villages": "Peacham,Galena,Marfa,Damariscotta,Cooperstown,Bisbee",
        "phones": "(###) 555-01##,2##-555-01##,+1 3## 555 01##,1-8##-555-01##,4##.555.01##",
        "plates": "7??? ###,???-####,### ???,??? ####",
        "account": "########",
    },
    "en_GB": {
        "towns": "Wolverhampton,Aberdeen,Swansea,Kettering,Truro,Huddersfield,Derry,Ipswich",
        "villages": "Lavenham,Clovelly,Hawkshead,Tobermory,Much Wenlock,Upper Slaughter",
        "phones": "020 79## ####,0161 496 0###,07700 900###,+44 7700 900###,+44 (0)20 7946 0###,01632 960###",
        "plates": "??## ???,??##???,?### ???",
    },
    "en_IE": {
        "towns": "Letterkenny,Tralee,Drogheda,Sligo,Athlone,Waterford",
        "villages": "Ballyvaughan,Kinvara,Inistioge,Dingle,Cong",
        "phones": "01 ### ####,087 ### ####,+353 86 ### ####,021 ### ####,(091) ######",
        "plates": "191-D-#####,12-KY-####,231 G ####",
        "ssn": "#######?,#######??",
    },
    "en_CA": {
        "towns": "Saskatoon,Moncton,Kelowna,Thunder Bay,Lethbridge,Guelph",
        "villages": "Tofino,Mahone Bay,Elora,Canmore,Bonavista",
        "phones": "(6##) 555-01##,416-555-01##,+1 604 555 01##,1 (5##) 555-01##",
        "plates": "???? ###,???-####,??? ###",
        "account": "#######",
    },
    "en_AU": {
        "towns": "Toowoomba,Ballarat,Geelong,Wagga Wagga,Launceston,Townsville",
        "villages": "Hahndorf,Yackandandah,Maleny,Bridgetown,Robe",
        "phones": "(02) 5550 ####,0491 570 ###,+61 3 5550 ####,+61 491 570 ###,1800 160 ###",
        "plates": "???-##?,### ???,1?? #??",
        "ssn": "### ### ###",
        "account": "######-#########",
    },
    "en_IN": {
        "towns": "Coimbatore,Vadodara,Mysuru,Ludhiana,Guwahati,Kochi",
        "villages": "Khonoma,Malana,Mawlynnong,Hampi,Orchha",
        "phones": "+91 98### #####,098##-######,(080) 2### ####,9########1",
        "plates": "MH ## ?? ####,KA-##-?-####,DL ## ?? ####",
        "ssn": "#### #### ####",
        "account": "##############",
    },
    "de_DE": {
        "towns": "Wuppertal,Chemnitz,Ingolstadt,Bielefeld,Flensburg,Görlitz,Ludwigshafen,Villingen-Schwenningen",
        "villages": "Bischofsgrün,Oybin,Greetsiel,Schiltach,Ramsau,Beilstein",
        "phones": "0351 ######,(089) ####-###,0171/#######,+49 151 ########,+49 (0)30 #######,0049 221 ######,030-#######",
        "plates": "M-?? ####,HH-? ####,LÖ ?? ###,B-?? ##E,WUN-? ##,DD ?? ####",
        "ssn": "?#########",
    },
    "de_AT": {
        "towns": "Klagenfurt,Steyr,Dornbirn,Wiener Neustadt,Leoben,Villach",
        "villages": "Hallstatt,Rust,Alpbach,Gmünd,Mondsee",
        "phones": "0664 #######,01 #######,+43 676 #######,+43 (0)512 ######,0316/######",
        "plates": "W-#####?,G ### ??,SL-###??,LL ### ??",
    },
    "de_CH": {
        "towns": "Winterthur,Rapperswil,Olten,Schaffhausen,Langenthal,Chur",
        "villages": "Soglio,Guarda,Ernen,Grindelwald,Appenzell",
        "phones": "044 ### ## ##,079 ### ## ##,+41 78 ### ## ##,+41 (0)31 ### ## ##,0041 61 ### ## ##",
        "plates": "ZH ######,BE-######,GR ### ###,LU #####",
    },
    "fr_FR": {
        "towns": "Clermont-Ferrand,Brest,Valenciennes,La Rochelle,Nîmes,Besançon,Le Puy-en-Velay,Tarbes",
        "villages": "Locronan,Conques,Eguisheim,Rochefort-en-Terre,Saint-Cirq-Lapopie,Barfleur",
        "phones": "01 ## ## ## ##,06.##.##.##.##,+33 6 ## ## ## ##,07########,0033 4 ## ## ## ##,+33 (0)2 ## ## ## ##",
        "plates": "??-###-??,?? ### ??,### ??? 75",
    },
    "fr_BE": {
        "towns": "Charleroi,Namur,Tournai,Verviers,La Louvière,Arlon",
        "villages": "Durbuy,Crupet,Torgny,Celles,Redu",
        "phones": "02 ### ## ##,0475 ## ## ##,+32 4## ## ## ##,+32 (0)81 ## ## ##,081/## ## ##",
        "plates": "1-???-###,2-???-###",
        "ssn": "##.0#.1#-###.##",
    },
    "fr_CH": {
        "towns": "Yverdon-les-Bains,Neuchâtel,Fribourg,Sion,Delémont,Vevey",
        "villages": "Saint-Ursanne,Évolène,Romainmôtier,Gruyères,Champéry",
        "phones": "022 ### ## ##,078 ### ## ##,+41 79 ### ## ##,+41 (0)21 ### ## ##",
        "plates": "VD ######,GE-######,VS ### ###",
    },
    "fr_CA": {
        "towns": "Trois-Rivières,Sherbrooke,Rimouski,Chicoutimi,Gatineau,Drummondville",
        "villages": "Baie-Saint-Paul,Tadoussac,Kamouraska,Percé,Saint-Irénée",
        "phones": "514 555-01##,(418) 555-01##,+1 819 555-01##,1 450 555-01##",
        "plates": "?## ???,??? ###",
        "ssn": "### ### ###",
        "account": "#######",
    },
    "es_ES": {
        "towns": "Valladolid,Cartagena,Vigo,Badajoz,Jerez de la Frontera,Logroño,L'Hospitalet,Gijón",
        "villages": "Albarracín,Cudillero,Frigiliana,Besalú,Aínsa,Peñaranda",
        "phones": "91 ### ## ##,6## ### ###,+34 6## ## ## ##,93 ### ####,0034 9## ### ###,7########",
        "plates": "#### BC?,####-D??,#### ???",
        "ssn": "## ########## ##",
    },
    "es_MX": {
        "towns": "Guadalajara,Zacatecas,Mérida,Tuxtla Gutiérrez,Torreón,Xalapa",
        "villages": "Tepoztlán,Real de Catorce,Bacalar,Pátzcuaro,Cuetzalan",
        "phones": "55 #### ####,(33) #### ####,+52 55 #### ####,+52 1 81 #### ####,228 ### ####",
        "plates": "???-###-?,???-##-##,??-#####",
        "account": "##################",
    },
    "es_AR": {
        "towns": "Rosario,Bahía Blanca,Neuquén,San Luis,Mar del Plata,Tandil",
        "villages": "Cachi,Purmamarca,Villa Traful,San Antonio de Areco,Iruya",
        "phones": "011 4###-####,(0341) 4##-####,+54 9 11 ####-####,+54 351 ### ####,15 ####-####",
        "plates": "?? ### ??,??? ###",
        "ssn": "##.###.###,20-########-#",
        "account": "######################",
    },
    "es_CL": {
        "towns": "Antofagasta,Temuco,Valdivia,Punta Arenas,Rancagua,Iquique",
        "villages": "Pisco Elqui,Putre,Tortel,Chanco,Curanipe",
        "phones": "9 #### ####,+56 9 #### ####,(2) 2### ####,+56 41 2## ####",
        "plates": "??-??-##,????##,???? ##",
        "account": "############",
    },
    "es_CO": {
        "towns": "Barranquilla,Pereira,Ibagué,Bucaramanga,Pasto,Popayán",
        "villages": "Barichara,Salento,Mompox,Guatapé,Villa de Leyva",
        "phones": "3## ### ####,(601) ### ####,+57 3## ### ####,604 ### ## ##",
        "plates": "??? ###,???-###,???##?",
        "ssn": "#.0##.###.###,##.###.###",
        "account": "###########",
    },
}  # fmt: skip
# Faker's own phones and streets are used where they are those of the country.
REAL_PHONES = {
    "en_US",
    "en_GB",
    "en_CA",
    "en_AU",
    "de_DE",
    "de_AT",
    "de_CH",
    "fr_FR",
    "fr_CH",
    "es_ES",
}
STREETS = {"fr_BE": "fr_FR", "en_IE": "en_GB", "es_MX": "es_ES"}
FAKE_NUMBERS = {
    **dict.fromkeys(("en_US", "en_GB", "en_CA", "de_AT", "de_CH", "fr_FR", "fr_CH", "es_MX"), "ssn"),
    "de_DE": "rvnr", "es_ES": "nif", "es_CL": "rut",
}  # fmt: skip
DAY_FIRST = "{0.day:02}/{0.month:02}/{0.year}"
NUMERIC = {
    "en_US": ("{0.month:02}/{0.day:02}/{0.year}", "{0.month}/{0.day}/{short}", "{0:%Y-%m-%d}"),
    "en": (DAY_FIRST, "{0.day}/{0.month}/{short}", "{0:%Y-%m-%d}"),
    "de": (
        "{0.day:02}.{0.month:02}.{0.year}",
        "{0.day}.{0.month}.{short}",
        "{0.day}.{0.month}.{0.year}",
    ),
    "fr": (DAY_FIRST, "{0.day:02}.{0.month:02}.{0.year}", "{0.day}/{0.month}/{short}"),
    "es": (DAY_FIRST, "{0.day}-{0.month}-{0.year}", "{0.day}/{0.month}/{short}"),
}
WORDED = {
    "en_US": ("{month} {0.day}, {0.year}", "{month:.3} {0.day}, {0.year}"),
    "en": ("{0.day} {month} {0.year}", "{0.day} {month:.3} {0.year}"),
    "de": ("{0.day}. {month} {0.year}",),
    "fr": ("{0.day} {month} {0.year}",),
    "es": ("{0.day} de {month} de {0.year}",),
}
CLASSES = {
    **dict.fromkeys(("n", "n2", "f", "l", "lf", "lf2", "i", "hl", "hn", "nl", "N", "N2", "L"), "name"),
    **dict.fromkeys(("c", "v", "s", "z", "saint"), "place"),
    **dict.fromkeys(("iban", "ssn", "mrn", "cust"), "id"),
    "p": "phone", "k": "plate", "d": "date", "dm": "date", "e": "email",
}  # fmt: skip


class Filler:
    """Values of one locale; a method `_make_` for each slot."""

    def __init__(self, language: str, locale: str) -> None:
        Faker.seed(f"{SEED} {locale}")
        self.chance = random.Random(f"{SEED} {locale}")
        self.language, self.locale = language, locale
        self.fake, self.streets = Faker(locale), Faker(STREETS.get(locale, locale))
        self.country = COUNTRIES[locale]

    def fill(self, slot: str) -> str:
        """Return a value for a slot of a template."""
        if slot[0].isupper():
            return self.fill(slot.lower()).upper()
        return str(getattr(self, f"_make_{slot}")())

    def _choose(self, key: str) -> str:
        return self.chance.choice(self.country[key].split(","))

    def _draw(self, form: str) -> str:
        digits = re.sub("#", lambda _: str(self.chance.randrange(10)), form)
        return re.sub(r"\?", lambda _: self.chance.choice("BCDFGHJKLMNPRSTVWXYZ"), digits)

    def _make_f(self) -> str:
        return self.fake.first_name()

    def _make_l(self) -> str:
        return self.fake.last_name()

    def _make_n(self) -> str:
        return f"{self._make_f()} {self._make_l()}"

    def _make_n2(self) -> str:
        return f"{self._make_n()} {self._make_l()}"

    def _make_lf(self) -> str:
        return f"{self._make_l()}, {self._make_f()}"

    def _make_lf2(self) -> str:
        return f"{self._make_l()} {self._make_l()}, {self._make_f()}"

    def _make_i(self) -> str:
        return f"{self._make_f()[0]}. {self._make_l()}"

    def _make_hl(self) -> str:
        return f"{self._make_l()}-{self._make_l()}"

    def _make_hn(self) -> str:
        return f"{self._make_f()} {self._make_hl()}"

    def _make_nl(self) -> str:
        return self._make_n().lower()

    def _make_c(self) -> str:
        return self._choose("towns") if self.chance.random() < 0.5 else self.fake.city()

    def _make_v(self) -> str:
        return self._choose("villages")

    def _make_s(self) -> str:
        if self.chance.random() < 0.5:
            return self.chance.choice(REAL_STREETS[self.language])
        return self.streets.street_address().replace("\n", ", ").strip()

    def _make_z(self) -> str:
        return self.streets.postcode()

    def _make_saint(self) -> str:
        return self.chance.choice(SAINTS[self.language])

    def _make_p(self) -> str:
        if self.locale in REAL_PHONES and self.chance.random() < 0.4:
            return self.fake.phone_number()
        return self._draw(self._choose("phones"))

    def _make_k(self) -> str:
        return self._draw(self._choose("plates"))

    def _make_d(self) -> str:
        day = date(1935, 1, 1) + timedelta(days=self.chance.randrange(33000))
        forms = NUMERIC if self.chance.random() < 0.6 else WORDED
        form = self.chance.choice(forms.get(self.locale, forms[self.language]))
        month = MONTHS[self.language].split()[day.month - 1]
        return form.format(day, month=month, short=f"{day:%y}")

    def _make_dm(self) -> str:
        day = date(2024, 1, 1) + timedelta(days=self.chance.randrange(366))
        month = MONTHS[self.language].split()[day.month - 1]
        form = {"de": "{0}. {1}", "es": "{0} de {1}", "en_US": "{1} {0}"}
        return form.get(self.locale, form.get(self.language, "{0} {1}")).format(day.day, month)

    def _make_e(self) -> str:
        if self.chance.random() < 0.5:
            return self.fake.email()
        plain = unicodedata.normalize("NFKD", f"{self._make_f()}.{self._make_l()}")
        name = re.sub(r"[^a-z.]", "", plain.lower())
        host = self.chance.choice(("posteo.net", "mail-box.org", "firstclinic.eu", "outlook.com"))
        return f"{name}@{host}"

    def _make_iban(self) -> str:
        if account := self.country.get("account"):
            return self._draw(account)
        number = self.fake.iban() if self.locale != "fr_BE" else self._draw("BE##############")
        return re.sub(r"(.{4})(?=.)", r"\1 ", number) if self.chance.random() < 0.6 else number

    def _make_ssn(self) -> str:
        provider = FAKE_NUMBERS.get(self.locale)
        if provider is None or ("ssn" in self.country and self.chance.random() < 0.5):
            return self._draw(self._choose("ssn"))
        return getattr(self.fake, provider)()

    def _make_mrn(self) -> str:
        return self._draw(self.chance.choice(("#######", "######", "H-######", "00########")))

    def _make_cust(self) -> str:
        return self._draw(self.chance.choice(("########", "KD-######", "2024/######", "??######")))


def fill_template(template: str, filler: Filler) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the text, and where its identifiers are."""
    text, spans, done = "", [], 0
    for slot in SLOT.finditer(template):
        text += template[done : slot.start()]
        value, done = filler.fill(slot[1]), slot.end()
        spans.append((len(text), len(text) + len(value), CLASSES[slot[1]]))
        text += value
    return text + template[done:], spans


def make_texts() -> list[dict[str, object]]:
    """Return all texts with their labels."""
    texts: list[dict[str, object]] = []
    for language in MONTHS:
        locales = [locale for locale in COUNTRIES if locale.startswith(language)]
        fillers = [Filler(language, locale) for locale in locales]
        genre, turn = "", 0
        for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
            if line.startswith("#"):
                genre = line[2:]
                continue
            for _ in range(FILLED):
                filler, turn = fillers[turn % len(fillers)], turn + 1
                text, spans = fill_template(line, filler)
                texts.append({"language": language, "locale": filler.locale, "genre": genre,
                              "text": text, "spans": spans})  # fmt: skip
    return texts


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(made, ensure_ascii=False) + "\n" for made in make_texts())
