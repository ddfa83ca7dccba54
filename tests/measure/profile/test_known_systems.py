"""Columns as systems in use name them: what each is, by its name and by values of the right form.

The names are those of published data models and export formats. None of these tables is among those
that the detector is measured on (`bench/labels`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.measure.profile import RoleGuess, guess_roles

ROWS = 300
ROLES = {
    "i": "identifier",
    "q": "quasi-identifier",
    "s": "sensitive",
    "n": "insensitive",
    "h": "household",
}
VALUES: dict[str, Callable[[int], Any]] = {
    "key": lambda n: 100_000 + 7 * n,
    "text": lambda n: f"Wort {n}",
    "word": lambda n: f"wert{'abcdefgh'[n % 8]}",
    "code": lambda n: n % 7 + 1,
    "number": lambda n: round(3.7 * (n % 90) + 0.5, 1),
    "count": lambda n: n % 6,
    "date": lambda n: dt.date(2020, 1, 1) + dt.timedelta(days=n % 200),
    "year": lambda n: 1930 + n % 70,
    "age": lambda n: n % 90,
    "flag": lambda n: "ny"[n % 2],
}

SYSTEMS = {
    "OMOP": """
        person_id key i | gender_concept_id code q | year_of_birth year q | month_of_birth code q
        race_concept_id code s | ethnicity_concept_id code s | location_id code q | provider_id key i
        care_site_id code q | person_source_value text i | condition_concept_id code s
        condition_start_date date q | drug_concept_id code s | drug_exposure_start_date date q
        procedure_concept_id code s | measurement_concept_id code s | value_as_number number s
        note_text text i | death_date date q | cause_concept_id code s
    """,
    "FHIR, flat": """
        Patient.id key i | Patient.identifier.value key i | Patient.name.family text i | Patient.name.given text i
        Patient.telecom.value text i | Patient.gender word q | Patient.birthDate date q
        Patient.address.line text i | Patient.address.city word q | Patient.address.postalCode code q
        Patient.address.country word q | Patient.maritalStatus.coding.code word q
        Patient.contact.name text i | Patient.generalPractitioner.display text i
        Condition.code.coding.code word s | MedicationRequest.dosageInstruction.text text s
        Encounter.period.start date q | Patient.photo.url text i
    """,
    "§ 21 KHEntgG": """
        KH-internes-Kennzeichen key i | Geburtsjahr year q | Geburtsmonat code q | Geschlecht code q | PLZ code q
        Wohnort word q | Aufnahmedatum date q | Entlassungsdatum date q | Aufnahmegrund code s
        Alter-in-Jahren-am-Aufnahmetag age q | Alter-in-Tagen-am-Aufnahmetag age q | Patientennummer key i
        Beatmungsstunden number s | ICD-Kode word s | OPS-Kode word s | OPS-Datum date q | DRG word s
        Versicherten-ID key i | Krankenkasse word s
    """,
    "PMSI": """
        NUM_RSS key i | FINESS code q | DATE_NAISS date q | SEXE code q | CODE_POSTAL code q | DP word s
        DAS1 word s | GHM word s | DATE_ENTREE date q | DATE_SORTIE date q | ACTE_CCAM word s | NIR_ANO key i | IPP key i
    """,
    "LimeSurvey": """
        id key i | submitdate date q | startlanguage word q | token key i | ipaddr text i | refurl text i
        firstname text i | lastname text i | email text i | Bemerkungen text i | Religionszugehörigkeit word s
        Schulabschluss code q | Nettoeinkommen number s | Wahlabsicht code s
    """,
    "SAP HR": """
        PERNR key i | NACHN text i | VORNA text i | GBDAT date q | GESCH code q | NATIO word q | KONFE code s | FAMST code q
        ANZKD count q | STRAS text i | PSTLZ code q | ORT01 word q | TELNR text i | BANKN key i | BETRG number s | BEGDA date q
        ENDDA date q | STELL code q | ORGEH code q
    """,
    "Salesforce": """
        Id key i | LastName text i | FirstName text i | MailingStreet text i | MailingCity word q | MailingPostalCode code q
        Phone text i | Fax text i | MobilePhone text i | Email text i | Department word q | Birthdate date q | AssistantName text i
        CreatedDate date q | OwnerId key i | PhotoUrl text i
    """,
    "DHIS2": """
        trackedEntityInstance key i | orgUnitName word q | eventDate date q | storedBy text i | latitude number q | longitude number q
        FirstName text i | AgeInYears age q | HIVStatus code s | NationalID key i | Village word q | MotherName text i
    """,
    "CDISC SDTM": """
        USUBJID text i | SUBJID text i | SITEID code q | INVNAM text i | BRTHDTC date q | AGE age q | SEX word q | RACE word s
        ETHNIC word s | ARM word s | COUNTRY word q | AETERM word s | AESTDTC date q | CMTRT word s | LBORRES number s | DTHDTC date q
        STUDYID word n
    """,
    "Spanish registry": """
        dni text i | nombre text i | apellido1 text i | fecha_nacimiento date q | sexo code q | codigo_postal code q | municipio word q
        telefono text i | diagnostico_principal word s | medico_responsable text i | numero_historia key i | observaciones text i
        etnia word s | discapacidad code s | sueldo number s | persona_contacto text i | num_hijos count q
    """,
    "Polish registry": """
        PESEL text i | imię text i | nazwisko text i | data_urodzenia date q | płeć word q | kod_pocztowy code q | miejscowość word q
        nr_telefonu text i | rozpoznanie word s | lekarz_prowadzący text i | uwagi text i | wyznanie word s | stan_cywilny code q
        wynagrodzenie number s | wykształcenie code q | niepełnosprawność code s | osoba_kontaktowa text i
    """,
    "Italian registry": """
        codice_fiscale text i | nome text i | cognome text i | data_di_nascita date q | sesso word q | cap code q | comune_residenza word q
        cellulare text i | diagnosi word s | medico_curante text i | osservazioni text i | stato_civile code q | reddito number s
        orientamento_sessuale word s | iscrizione_sindacale flag s
    """,
    "Dutch registry": """
        bsn key i | voornaam text i | achternaam text i | geboortedatum date q | geslacht word q | postcode word q | woonplaats word q
        telefoonnummer text i | huisarts text i | opmerkingen text i | aandoening word s | inkomen number s | geloofsovertuiging word s
        burgerlijke_staat code q | kenteken text i
    """,
    "German human resources": """
        Personalnr key i | Name text i | Geb.-Datum date q | Staatsangehörigkeit word q | Steuer-ID key i | SV-Nummer text i | IBAN text i
        Telefon_privat text i | Notfallkontakt text i | Bruttogehalt number s | Lohngruppe code s | Kirchensteuermerkmal word s
        Schwerbehinderung flag s | GdB number s | Gewerkschaftsmitglied flag s | Krankenstand_Tage count s | Kostenstelle code q
        Anmerkung text i | Beschaeftigungsgrad number q | KFZ-Kennzeichen text i
    """,
    "French survey": """
        numéro_sécurité_sociale text i | prénom text i | âge age q | département code q | code_insee code q | profession word q
        niveau_diplôme code q | revenu_mensuel number s | opinion_politique code s | appartenance_religieuse word s | état_de_santé code s
        commentaires text i | médecin_traitant text i | nb_enfants count q | situation_matrimoniale code q | tél_portable text i
    """,
}


def _columns(system: str) -> list[tuple[str, str, str]]:
    entries = [part.strip() for line in SYSTEMS[system].splitlines() for part in line.split("|")]
    found = [entry.rsplit(" ", 2) for entry in entries if entry]
    return [(name, kind, ROLES[letter]) for name, kind, letter in found]


def _guess(system: str) -> dict[str, RoleGuess]:
    data = {name: [VALUES[kind](n) for n in range(ROWS)] for name, kind, _ in _columns(system)}
    table = open_table(pa.table(data))
    try:
        return guess_roles(table)
    finally:
        table.engine.close()


@pytest.mark.parametrize("system", SYSTEMS)
def test_columns_of_known_systems_get_their_roles(system: str) -> None:
    found = _guess(system)
    wrong = {
        name: (str(found[name].role), found[name].meaning)
        for name, _, role in _columns(system)
        if found[name].role != role
    }
    assert not wrong
