"""Extracts of hospital systems in four countries, with invented rows: column names and codes are those of public standards.

Run by the Python of the environment `evaluation`, which has Faker: `evaluation_extracts.py FOLDER`.
"""

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

from faker import Faker

ROWS = 400
SEED = 20261118
ICD = ("I21.0", "E11.90", "C50.4", "J18.9", "S72.01", "K35.8", "F32.1", "N39.0", "O80", "I50.13",
       "G40.2", "B20", "C34.1", "M16.1", "F10.2", "Z38.0", "A41.9", "I63.3", "K80.20", "J44.19")  # fmt: skip


class Extract:
    """What the rows of one country are drawn from."""

    def __init__(self, locale: str) -> None:
        Faker.seed(SEED)
        self.chance = random.Random(f"{SEED} {locale}")
        self.fake = Faker(locale)
        self.cities = [self.fake.city() for _ in range(40)]
        self.doctors = [(self.fake.name(), self.digits(7)) for _ in range(25)]

    def digits(self, count: int) -> str:
        """Return a number of `count` digits that does not begin with zero."""
        return str(self.chance.randrange(10 ** (count - 1), 10**count))

    def pick(self, *values: str) -> str:
        """Return one of the values."""
        return self.chance.choice(values)

    def often(self, share: float, value: str) -> str:
        """Return `value`, or nothing in the other rows."""
        return value if self.chance.random() < share else ""

    def stay(self) -> tuple[date, date, date]:
        """Return a birth date, an admission and a discharge."""
        came = date(2023, 1, 1) + timedelta(days=self.chance.randrange(700))
        born = came - timedelta(days=self.chance.randrange(90 * 365))
        return born, came, came + timedelta(days=1 + int(self.chance.expovariate(0.2)))


def german_row(of: Extract) -> dict[str, str]:
    """Return a row of FALL.csv, after § 21 KHEntgG."""
    born, came, left = of.stay()
    name, given = of.fake.last_name(), of.fake.first_name()
    doctor, _ = of.chance.choice(of.doctors)
    remark = of.pick(
        f"Ehefrau von Herrn {name} wünscht Rückruf durch Dr. {of.fake.last_name()} am Nachmittag.",
        "Patient wurde über das Risiko der Narkose aufgeklärt und hat eingewilligt.",
        f"Verlegung nach {of.chance.choice(of.cities)} mit Angehörigen besprochen, Arztbrief folgt.",
        "Keine Besonderheiten im Verlauf, Entlassung in gutem Allgemeinzustand möglich.",
    )
    return {
        "IK": "260500321",
        "Entlassender-Standort": of.pick("772345000", "772346000"),
        "KH-internes-Kennzeichen": f"F{of.digits(8)}",
        "Versicherten-ID": of.chance.choice("ABCDEFGHKLMNPRSTUVW") + of.digits(9),
        "IK-der-Krankenkasse": of.pick("108018347", "101575519", "104212505", "109519005"),
        "Patientennummer": of.digits(7),
        "Nachname": name,
        "Vorname": given,
        "Geburtsjahr": str(born.year),
        "Geburtsmonat": f"{born:%m}",
        "Geschlecht": of.pick("m", "w", "m", "w", "m", "w", "d"),
        "PLZ": of.fake.postcode(),
        "Wohnort": of.chance.choice(of.cities),
        "Strasse": of.fake.street_address(),
        "Telefon": of.fake.phone_number(),
        "Konfession": of.pick("rk", "ev", "ohne", "isl", "orth", "rk", "ev", "ohne"),
        "Staatsangehoerigkeit": of.pick("D", "D", "D", "D", "TR", "PL", "SYR", "I"),
        "Aufnahmedatum": f"{came:%Y%m%d}{of.chance.randrange(24):02}{of.chance.randrange(60):02}",
        "Aufnahmeanlass": of.pick("E", "N", "Z", "G", "V"),
        "Aufnahmegrund": of.pick("01", "01", "02", "05", "07"),
        "Aufnahmegewicht": of.often(0.1, str(of.chance.randrange(1500, 4700, 10))),
        "Entlassungsdatum": f"{left:%Y%m%d}{of.chance.randrange(24):02}{of.chance.randrange(60):02}",
        "Entlassungsgrund": of.pick("01", "01", "01", "02", "06", "07", "09"),
        "Beatmungsstunden": of.often(0.1, str(of.chance.randrange(1, 300))),
        "Hauptdiagnose": of.chance.choice(ICD),
        "Nebendiagnose": of.often(0.7, of.chance.choice(ICD)),
        "OPS-Kode": of.often(0.8, of.pick("5-470.11", "8-930", "5-820.00", "1-710", "3-200", "9-984.7")),
        "DRG": of.pick("F60B", "G23C", "I47C", "E79C", "O60D", "P67D", "J23Z"),
        "Einweisender-Arzt": of.often(0.8, doctor),
        "Bemerkung": of.often(0.6, remark),
    }  # fmt: skip


def french_row(of: Extract) -> dict[str, str]:
    """Return a row of the PMSI."""
    born, came, left = of.stay()
    name, given = of.fake.last_name(), of.fake.first_name()
    doctor, licence = of.chance.choice(of.doctors)
    remark = of.pick(
        f"Le mari de Mme {name} souhaite être rappelé par le Dr {of.fake.last_name()} demain matin.",
        "Patient informé des risques de l'anesthésie, consentement signé avant l'intervention.",
        f"Transfert vers l'hôpital de {of.chance.choice(of.cities)} discuté avec la famille hier.",
        "Suites opératoires simples, sortie autorisée avec une ordonnance pour quinze jours.",
    )
    return {
        "NFINESS": "690781810",
        "NUM_RSS": of.digits(8),
        "IPP": f"0{of.digits(9)}",
        "NDA": of.digits(9),
        "NIR": of.fake.ssn().replace(" ", ""),
        "NOM_USUEL": name.upper(),
        "PRENOM": given,
        "DATE_NAISSANCE": f"{born:%d/%m/%Y}",
        "SEXE": of.pick("1", "2"),
        "CODE_POSTAL": of.fake.postcode(),
        "COMMUNE": of.chance.choice(of.cities),
        "TEL_PORTABLE": of.fake.phone_number(),
        "SITUATION_FAMILIALE": of.pick("M", "C", "D", "V", "P"),
        "PAYS_NAISSANCE": of.pick("FR", "FR", "FR", "FR", "DZ", "MA", "PT", "IT"),
        "DATE_ENTREE": f"{came:%d/%m/%Y}",
        "MODE_ENTREE": of.pick("6", "7", "8", "8", "8"),
        "PROVENANCE": of.often(0.5, of.pick("1", "2", "5", "7")),
        "DATE_SORTIE": f"{left:%d/%m/%Y}",
        "MODE_SORTIE": of.pick("8", "8", "8", "7", "6", "9"),
        "DP": of.chance.choice(ICD).replace(".", ""),
        "DAS1": of.often(0.6, of.chance.choice(ICD).replace(".", "")),
        "GHM": of.pick("05M091", "08C481", "14Z13A", "04M053", "23M20Z", "06C091"),
        "IGS2": of.often(0.2, str(of.chance.randrange(5, 90))),
        "POIDS_ENTREE": of.often(0.1, str(of.chance.randrange(1500, 4700, 10))),
        "UM": of.pick("CARD1", "CHIR2", "PED1", "REA1", "GERI", "OBST"),
        "MEDECIN_TRAITANT": of.often(0.8, doctor),
        "NUM_RPPS": f"1010{licence}",
        "MONTANT_FACTURE": f"{of.chance.uniform(300, 19000):.2f}".replace(".", ","),
        "OBSERVATIONS": of.often(0.6, remark),
    }


def spanish_row(of: Extract) -> dict[str, str]:
    """Return a row of the RAE-CMBD."""
    born, came, left = of.stay()
    name, given = of.fake.last_name(), of.fake.first_name()
    doctor, _ = of.chance.choice(of.doctors)
    remark = of.pick(
        f"La hija de la Sra. {name} pide hablar con el Dr. {of.fake.last_name()} antes del alta.",
        "Paciente informado de los riesgos de la anestesia, firma el consentimiento por escrito.",
        f"Se comenta con la familia el traslado al hospital de {of.chance.choice(of.cities)} mañana.",
        "Evolución favorable sin complicaciones, se programa revisión en consulta en dos semanas.",
    )
    return {
        "CCAA": of.pick("01", "09", "10", "13", "16"),
        "CENTRO": of.pick("080057", "280035"),
        "HISTORIA": of.digits(7),
        "CIP": (name[:2] + given[:2]).upper().ljust(4, "X") + of.digits(10),
        "DNI": of.fake.nif(),
        "NOMBRE": given,
        "APELLIDO1": name,
        "APELLIDO2": of.fake.last_name(),
        "FECNAC": f"{born:%d/%m/%Y}",
        "SEXO": of.pick("1", "2"),
        "PAIS_NAC": of.pick("724", "724", "724", "724", "504", "170", "642", "218"),
        "CODPOST": of.fake.postcode(),
        "MUNICIPIO": of.chance.choice(of.cities),
        "DOMICILIO": of.fake.street_address(),
        "TELEFONO": of.fake.phone_number(),
        "CORREO_E": of.often(0.6, of.fake.email()),
        "REGFIN": of.pick("1", "1", "1", "2", "5", "8"),
        "FECING": f"{came:%d/%m/%Y}",
        "TIPING": of.pick("1", "2"),
        "FECALT": f"{left:%d/%m/%Y}",
        "TIPALT": of.pick("1", "1", "1", "2", "3", "4"),
        "SERVICIO": of.pick("CAR", "TRA", "PSQ", "OBG", "MIR", "CGD"),
        "C1": of.chance.choice(ICD),
        "C2": of.often(0.7, of.chance.choice(ICD)),
        "P1": of.often(0.6, of.pick("0DTJ4ZZ", "10E0XZZ", "02703DZ", "0SR90JZ", "B2111ZZ")),
        "PESO": of.often(0.1, str(of.chance.randrange(1500, 4700, 10))),
        "MEDICO_RESP": doctor,
        "OBSERVACIONES": of.often(0.6, remark),
    }


def polish_row(of: Extract) -> dict[str, str]:
    """Return a row of the reports to the NFZ."""
    born, came, left = of.stay()
    sex = of.pick("M", "K")
    given = of.fake.first_name_male() if sex == "M" else of.fake.first_name_female()
    name = of.fake.last_name_male() if sex == "M" else of.fake.last_name_female()
    doctor, licence = of.chance.choice(of.doctors)
    remark = of.pick(
        f"Córka pacjenta prosi o telefon od dr {of.fake.last_name()} w sprawie wypisu do domu.",
        "Pacjent poinformowany o ryzyku znieczulenia, zgoda na zabieg podpisana przed operacją.",
        f"Omówiono z rodziną przeniesienie do szpitala w {of.chance.choice(of.cities)} jutro rano.",
        "Przebieg bez powikłań, kontrola w poradni za dwa tygodnie z wynikami badań krwi.",
    )
    return {
        "KOD_SWIADCZENIODAWCY": "0712345678",
        "NR_KSIEGI_GLOWNEJ": f"{of.digits(5)}/{came:%Y}",
        "PESEL": of.fake.pesel(born),
        "NAZWISKO": name,
        "IMIE": given,
        "DATA_URODZENIA": f"{born:%Y-%m-%d}",
        "PLEC": sex,
        "KOD_POCZTOWY": of.fake.postcode(),
        "MIEJSCOWOSC": of.chance.choice(of.cities),
        "GMINA_TERYT": of.pick("1465011", "1261011", "0264011", "3064011", "2469011", "1061011"),
        "ULICA": of.fake.street_address(),
        "TELEFON": of.fake.phone_number(),
        "STAN_CYWILNY": of.pick("1", "2", "3", "4"),
        "NARODOWOSC": of.pick("polska", "polska", "polska", "polska", "ukraińska", "śląska"),
        "WYZNANIE": of.pick("rzymskokatolickie", "rzymskokatolickie", "prawosławne", "ewangelickie", "brak"),
        "TYTUL_UPRAWNIENIA": of.pick("U", "U", "U", "D", "C"),
        "DATA_PRZYJECIA": f"{came:%Y-%m-%d}",
        "TRYB_PRZYJECIA": of.pick("2", "3", "6", "6"),
        "DATA_WYPISU": f"{left:%Y-%m-%d}",
        "TRYB_WYPISU": of.pick("1", "2", "2", "4", "9"),
        "ROZPOZNANIE_GLOWNE": of.chance.choice(ICD),
        "ROZPOZNANIE_WSPOLISTNIEJACE": of.often(0.6, of.chance.choice(ICD)),
        "PROCEDURA_ICD9": of.often(0.8, of.pick("47.09", "88.72", "81.51", "93.90", "73.59", "36.06")),
        "JGP": of.pick("E12", "H01", "N01", "D18", "F72", "P21"),
        "WARTOSC_SWIADCZENIA": f"{of.chance.uniform(300, 19000):.2f}".replace(".", ","),
        "LEKARZ_PROWADZACY": doctor,
        "NPWZ": licence,
        "UWAGI": of.often(0.6, remark),
    }  # fmt: skip


EXTRACTS = {
    "german_hospital": ("de_DE", german_row),
    "french_hospital": ("fr_FR", french_row),
    "spanish_hospital": ("es_ES", spanish_row),
    "polish_hospital": ("pl_PL", polish_row),
}

if __name__ == "__main__":
    for extract, (locale, make_row) in EXTRACTS.items():
        source = Extract(locale)
        rows = [make_row(source) for _ in range(ROWS)]
        with Path(sys.argv[1], f"{extract}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(rows)
