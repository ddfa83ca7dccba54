from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.measure.text import lexicon
from discreet.measure.text.languages import detect_language, stands_like_noun
from discreet.measure.text.scan import scan_text
from discreet.release.deidentify.redact import redact_texts


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.kind) for span in scan_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pt kelsey brannigan seen for wound check", [("kelsey brannigan", "A")]),
        ("Mr. Young walked well.", [("Young", "A")]),
        ("The insured lives in Lake Almsbury.", [("Lake Almsbury", "B")]),
        ("He was hit by a car, license plate 7ABC123.", [("7ABC123", "L")]),
        ("Reach her on (143) 291-5072 x605.", [("(143) 291-5072 x605", "D")]),
        ("Herr Dr. med. Thilo Wanderscheid wurde aufgenommen.", [("Thilo Wanderscheid", "A")]),
        ("Der Befund wurde mit Wanderscheid besprochen.", [("Wanderscheid", "A")]),
        ("Habe mit Wiesenbrink telefoniert.", [("Wiesenbrink", "A")]),
        ("Frau Koch wohnt in Lippspringe.", [("Koch", "A"), ("Lippspringe", "B")]),
        ("Anschrift: Am Wiesenhang 12, 83873 Lemgo", [("Am Wiesenhang 12", "B"), ("83873 Lemgo", "B")]),
        ("Die Tochter ist unter 0316/83778353 erreichbar.", [("0316/83778353", "D")]),
        ("Der Wagen mit dem Kennzeichen KA-BC 1234 stand dort.", [("KA-BC 1234", "L")]),
        ("Wiedervorstellung am 12.3. in der Ambulanz", [("12.3.", "C")]),
        ("Frau WIESENTHAL klagt.", [("WIESENTHAL", "A")]),
        ("hr. wiesenthal hat gegessen", [("wiesenthal", "A")]),
        ("vom 3. bis 5. Mai in Kur, geb. am 1.2.34", [("3. bis 5. Mai", "C"), ("1.2.34", "C")]),
        ("Versichertennummer A123456789", [("A123456789", "I")]),
        ("Mme Lejosne habite à Guérande avec sa fille.", [("Lejosne", "A"), ("Guérande", "B")]),
        ("Vu avec le Dr Kerbrat ce jour.", [("Kerbrat", "A")]),
        ("Elle demeure 31, chemin des Lilas à Rennes.", [("31, chemin des Lilas", "B"), ("Rennes", "B")]),
        ("Joindre la famille au 03 23 28 30 38.", [("03 23 28 30 38", "D")]),
        ("Le véhicule est immatriculé AB-123-CD.", [("AB-123-CD", "L")]),
        ("La Sra. Echeverri vive en Cuenca con su hija.", [("Echeverri", "A"), ("Cuenca", "B")]),
        ("El paciente Iker Zubizarreta refiere dolor.", [("Iker Zubizarreta", "A")]),
        ("Domicilio: Calle Mayor, 12, 28013 Madrid", [("Calle Mayor, 12", "B"), ("28013 Madrid", "B")]),
        ("Vive en la Cra. 7 # 12-34 desde mayo.", [("Cra. 7 # 12-34", "B")]),
        ("Llamar al 612 34 56 78 por la tarde.", [("612 34 56 78", "D")]),
        ("Tlf 11 2345 6789 o 9 1234 5678", [("11 2345 6789", "D"), ("9 1234 5678", "D")]),
        ("La matrícula del coche es 1234 BCD.", [("1234 BCD", "L")]),
        ("Kerebel a mal dormi, Rispoli aussi.", [("Kerebel", "A"), ("Rispoli", "A")]),
        ("We tried to reach Woods at home.", [("Woods", "A")]),
        ("Derivado por E. Bellart para rehabilitación.", [("E. Bellart", "A")]),
        ("Pena se negó a declarar.", [("Pena", "A")]),
        ("Geburtsort: Ummern", [("Ummern", "B")]),
        ("Spraitbach, den 3. Mai 2020", [("Spraitbach", "B")]),
        ("Anschrift: Im Tal 8, 74072 Heilbronn", [("Im Tal 8", "B")]),
        ("Domicilio: C/ San Juan, 3, 1º A, 50001 Zaragoza", [("C/ San Juan, 3, 1º A", "B")]),
        ("Visited at 1010 Oak Ridge Drive today.", [("1010 Oak Ridge Drive", "B")]),
    ],
)  # fmt: skip
def test_an_identifier_is_found_in_each_language(text, expected):
    assert [pair for pair in found(text) if pair in expected] == expected


@pytest.mark.parametrize(
    "phone",
    [
        "+34 91 123 45 67", "91 123 45 67", "91-123-45-67", "91.123.45.67", "612 34 56 78", "612-345-678", "612 345678",
        "0034 612 345 678", "976 12 34 56 ext. 12", "310 1234567", "(4) 321 4567", "604 123 45 67", "15 4321-5678",
        "06.12.34.56.78", "06-12-34-56-78", "01 23 45 67 89 poste 12", "089/12 34 56 Durchwahl 12", "98765 43210",
        "1300 123 456", "020 7946 0000 x123",
    ],
)  # fmt: skip
def test_a_phone_is_found_without_a_word_before_it(phone):
    assert found(f"Vormittags {phone}, danach nicht.") == [(phone, "D")]


@pytest.mark.parametrize(
    "text",
    [
        "Der Befund wurde mit Fachkollegen besprochen.", "Das Vorgehen wurde mit Angehörigen abgestimmt.",
        "Der Termin wurde mit Physiotherapie vereinbart.", "Mit Hausverwaltung telefoniert.",
    ],
)  # fmt: skip
def test_a_noun_that_something_was_discussed_with_is_no_name(text):
    assert found(text) == []


@pytest.mark.parametrize("date", ["06.12.34", "06-12-34", "12.03.2021", "3/5/20"])
def test_a_date_is_no_phone(date):
    assert [kind for _, kind in found(f"Termin am {date}, dann Pause.")] == ["C"]


@pytest.mark.parametrize(
    "plate",
    ["LK19 XYZ", "LK19XYZ", "BD51 SMR", "152-D-12345", "MH 12 AB 1234"],
)
def test_a_plate_that_nothing_else_looks_like_needs_no_word(plate):
    assert found(f"Parked outside: {plate}, engine running.") == [(plate, "L")]


@pytest.mark.parametrize(
    "plate",
    ["P123 ABC", "P123ABC", "ABC 123D", "X12 YZA", "8XYZ123", "XYZ 123", "1ABC 234", "ABCD 123"],
)
def test_other_plates_follow_a_vehicle(plate):
    assert found(f"A lorry ({plate}) reversed into the gate.") == [(plate, "L")]
    assert found(f"The vertebra {plate} was seen.") != [(plate, "L")]


@pytest.mark.parametrize(
    "text",
    [
        "Pt is alert. Hgb 10.2, Hct 31, Plt 250, Bcx pending, SpO2 97% on RA.",
        "EKG shows Wolff-Parkinson-White pattern. Tinel and Phalen signs positive.",
        "Brought by ambulance, GCS 15, BP 120/80, HR 98.",
        "Toyota Corolla and Honda Civic collided at low speed.",
        "Continue Lisinopril 10 mg, Metformin 500 mg BID and Atorvastatin.",
        "Im Röntgen Thorax kein Infiltrat, kein Erguss, Herz nicht vergrößert.",
        "Bekannter Morbus Basedow, Morbus Bechterew und Zustand nach Cholezystektomie.",
        "Colles-Fraktur, Dupuytren-Kontraktur und Baker-Zyste am linken Knie.",
        "Im Jahr 2020 Herzkatheter unauffällig, Belastungstest geplant.",
        "Fracture de Colles, maladie de Dupuytren et kyste de Baker au genou gauche.",
        "Traitement par Ramipril 5 mg, Bisoprolol et Doliprane en cas de douleur.",
        "Síndrome de Sjögren conocido, signo de Babinski negativo.",
        "Acude a Urgencias por dolor abdominal. Ingresa en Medicina Interna.",
        "Allergies: Penicillin, Trimethoprim, Latex. Weaned off Noradrenaline.",
        "Während der Nacht Unruhe, Bettflucht; Sitzwache organisiert, Seitengitter hochgestellt. Die Reha beginnt bald.",
        "Mieter meldet Schimmel im Badezimmer, Hausmeister informiert.",
        "Technicien absent, Garantie expirée. La Caisse d'Allocations Familiales a refusé la demande.",
        "Sustituido el Rúter, Línea restablecida, Incidencia cerrada. Agradecemos su Paciencia.",
        "Traslado a Cuidados Intensivos; se retira Noradrenalina. Alergias: Yodo, Látex.",
    ],
)
def test_tempting_sentences_stay(text):
    assert found(text) == []


PLANTED = {
    "Witness {} saw the car leave {}; plate {}, call {}.": ("Orla Finnerty", "Kettleby", "SZY 141", "0437 783 533"),
    "Zeuge {} aus {} nannte das Kennzeichen {}; Telefon {}.": ("Ottmar Wiesenthal", "Bad Salzuflen", "HX-QR 712", "(06228) 303883"),
    "Le témoin {} de {} a noté la plaque {} ; téléphone {}.": ("Maëlys Kerguelen", "Traore-les-Bains", "317-PUM-06", "+33 (0)3 44 41 58 68"),
    "El testigo {} de {} anotó la matrícula {}; teléfono {}.": ("Itziar Goikoetxea", "San Jorge los altos", "WUF-777-X", "+54 9 3408 3778"),
}  # fmt: skip


@pytest.mark.parametrize("template", PLANTED)
def test_redacted_texts_hold_none_of_the_planted_identifiers(template):
    planted = PLANTED[template]
    clean = redact_texts(
        pa.array([template.format(*planted)]), restricted_zips={"036"}, earliest_year=1936
    )
    text = clean.texts[0].as_py()
    assert not [
        part for identifier in planted for part in identifier.split() if part in text.split()
    ]
    assert clean.counts.keys() >= {"D", "L"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the patient was seen and has no complaints", "en"),
        ("die patientin wurde mit fieber aufgenommen", "de"),
        ("le patient a été vu pour une douleur", "fr"),
        ("el paciente fue visto por dolor", "es"),
        ("mrn 4411", ""),
    ],
)
def test_the_language_of_a_text_is_that_of_its_words(text, language):
    assert detect_language(set(text.split())) == language


def test_a_german_word_after_an_article_or_an_adjective_is_a_noun():
    assert stands_like_noun("eine")
    assert stands_like_noun("starke")
    assert not stands_like_noun("durch")


def test_compounds_of_known_nouns_are_everyday_words_in_german_only():
    assert lexicon.is_ordinary("lungenfunktionsprufung", "de")
    assert not lexicon.is_ordinary("wiesenthal", "de")
    assert not lexicon.is_ordinary("knieprothese", "en")


def test_small_towns_are_known_and_countries_are_none():
    assert {"lemgo", "bad salzuflen", "boston", "guerande"} <= lexicon.towns()
    assert lexicon.is_country("brazil")
