"""The words people name columns with, in seven languages, and what an outsider can do with each.

Phrases are separated by commas. `=word` counts only when it is the column's whole name, because
the word means too much elsewhere (`name`, `state`).
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.policy.model import ColumnRole


@dataclass(frozen=True)
class Concept:
    """What a column is about: its role, why, and its place in HIPAA's Safe Harbor list."""

    name: str
    role: ColumnRole
    reason: str
    phrases: str
    safe_harbor: str | None = None


def _identifier_concept(name: str, safe_harbor: str, phrases: str) -> Concept:
    return Concept(name, ColumnRole.IDENTIFIER, "names one person", phrases, safe_harbor)


def _quasi_identifier_concept(
    name: str, reason: str, phrases: str, safe_harbor: str | None = None
) -> Concept:
    return Concept(name, ColumnRole.QUASI_IDENTIFIER, reason, phrases, safe_harbor)


def _sensitive_concept(name: str, reason: str, phrases: str) -> Concept:
    return Concept(name, ColumnRole.SENSITIVE, reason, phrases)


_SPECIAL = "a special category of personal data (GDPR art. 9)"
_SEEN = "neighbors and colleagues can see it"
_LISTS = "voter lists and registers hold it"
_PROFILE = "social profiles and résumés show it"
_MONEY = "people keep what they earn and owe to themselves"

CONCEPTS = (
    _identifier_concept(
        "person name",
        "A",
        "=name, =names, full name, first name, last name, middle name, given name, family name, surname, "
        "forename, maiden name, patient name, customer name, client name, employee name, person name, "
        "student name, contact name, doctor name, physician name, fname, lname, fullname, initials, "
        "vorname, nachname, familienname, geburtsname, patientenname, kundenname, =nom, prenom, nom de "
        "famille, nom complet, =nombre, nombre completo, apellido, apellidos, =naam, voornaam, achternaam, "
        "volledige naam, =nome, cognome, nome completo, sobrenome, apelido, nome paziente",
    ),
    _identifier_concept(
        "e-mail address",
        "F",
        "email, e mail, =eml, mail address, email address, courriel, correo, correo electronico, =mail, posta "
        "elettronica",
    ),
    _identifier_concept(
        "fax number", "E", "fax, fax number, telefax, faxnummer, numero de fax, telecopie"
    ),
    _identifier_concept(
        "phone number",
        "D",
        "phone, telephone, phone number, mobile number, mobile phone, =mobile, =cell, cell phone, cellphone, "
        "cell number, contact number, =tel, tel number, tel nr, telefon, telefonnummer, handy, handynummer, telefono, movil, "
        "telefoon, telefoonnummer, gsm, cellulare, telefone, celular, telemovel",
    ),
    _identifier_concept(
        "street address",
        "B",
        "address, home address, street, street address, house number, =addr, address line, adresse, "
        "strasse, hausnummer, anschrift, =rue, direccion, domicilio, =calle, adres, straat, huisnummer, "
        "indirizzo, =via, endereco, morada, =rua",
    ),
    _identifier_concept(
        "national number",
        "G",
        "ssn, social security, social security number, national id, national number, national insurance "
        "number, nino, nin, =bsn, burgerservicenummer, dni, =nie, =nif, nir, numero de securite sociale, "
        "securite sociale, seguridad social, steuer id, steuerid, steuernummer, tax id, tax number, tin, "
        "sozialversicherungsnummer, rentenversicherungsnummer, codice fiscale, personnummer, hetu, "
        "henkilotunnus, fodselsnummer, cpr, cpr number, pesel, cpf, aadhaar, aadhar, ahv, ahv nr, avs, tfn, "
        "sin number, curp, identity number, identity card, personalausweis, ausweisnummer, id card",
    ),
    _identifier_concept(
        "medical record number",
        "H",
        "mrn, medical record, medical record number, chart number, hospital number, patient number, nhs, "
        "nhs number, patientennummer, fallnummer, numero de dossier, numero dossier, historia clinica, "
        "patientnummer, cartella clinica, prontuario, record number",
    ),
    _identifier_concept(
        "health plan number",
        "I",
        "member number, policy number, insurance number, health plan number, beneficiary number, medicare, "
        "medicare number, medicaid number, subscriber number, versichertennummer, krankenversichertennummer, "
        "kvnr, numero d assure, polisnummer, tessera sanitaria, cartao de saude",
    ),
    _identifier_concept(
        "account number",
        "J",
        "iban, account number, account no, acct, acct number, bank account, card number, credit card, credit card number, "
        "debit card, cc number, kontonummer, kreditkarte, kundennummer, customer number, numero de compte, "
        "carte bancaire, cuenta bancaria, tarjeta de credito, rekeningnummer, conto corrente, carta di "
        "credito, conta bancaria, cartao de credito, swift, wallet address",
    ),
    _identifier_concept(
        "certificate or license number",
        "K",
        "license number, licence number, npi, npi number, dea number, driver license, drivers license, driving licence, certificate number, "
        "passport, passport number, =visa number, fuhrerschein, fuehrerschein, reisepass, reisepassnummer, "
        "passeport, permis de conduire, pasaporte, permiso de conducir, paspoort, paspoortnummer, rijbewijs, "
        "passaporto, patente di guida, passaporte",
    ),
    _identifier_concept(
        "vehicle identifier",
        "L",
        "vin, license plate, licence plate, number plate, plate number, =plate, vehicle id, kennzeichen, "
        "fahrgestellnummer, immatriculation, plaque, matricula, kenteken, targa, placa",
    ),
    _identifier_concept(
        "device identifier",
        "M",
        "device id, serial number, imei, imsi, udid, mac address, device serial, seriennummer, numero de "
        "serie, serienummer, numero di serie, advertising id, cookie id",
    ),
    _identifier_concept(
        "web address", "N", "url, website, web page, homepage, profile link, webseite, sitio web"
    ),
    _identifier_concept(
        "IP address", "O", "ip, ip address, ipv4, ipv6, ip adresse, adresse ip, direccion ip"
    ),
    _identifier_concept(
        "biometric identifier",
        "P",
        "fingerprint, fingerprints, iris scan, retina, voice print, voiceprint, face encoding, biometric, "
        "fingerabdruck, empreinte digitale, huella dactilar, vingerafdruk, impronta digitale",
    ),
    _identifier_concept(
        "photograph",
        "Q",
        "photo, photograph, portrait, avatar, selfie, profile picture, lichtbild, foto",
    ),
    _identifier_concept(
        "user name",
        "R",
        "username, user name, login, login name, screen name, nickname, user handle, =handle, twitter handle, "
        "benutzername, nutzername, anmeldename, nom d utilisateur, identifiant, nombre de usuario, "
        "gebruikersnaam, nome utente, nome de usuario, password, passwort, =pin",
    ),
    _identifier_concept("unique code", "R", "uuid, guid, =hash, token, session id"),
    _quasi_identifier_concept(
        "birth date",
        "voter lists hold it",
        "dob, birth date, birthdate, bday, date of birth, birthday, date naissance, birth day, geburtsdatum, geburtstag, geb datum, "
        "date de naissance, naissance, fecha de nacimiento, fecha nacimiento, nacimiento, geboortedatum, "
        "data di nascita, data nascita, data de nascimento, nascimento, born",
        "C",
    ),
    _quasi_identifier_concept(
        "birth year",
        "friends and colleagues know it",
        "birth year, year of birth, birth yr, yr birth, yr of birth, yob, geburtsjahr, jahrgang, annee de naissance, annee naissance, ano de "
        "nacimiento, geboortejaar, anno di nascita, ano de nascimento",
    ),
    _quasi_identifier_concept(
        "age",
        "friends and colleagues know it",
        "age, age group, age years, =yrs, alter, alter jahre, altersgruppe, edad, leeftijd, eta, idade",
        "C",
    ),
    _quasi_identifier_concept(
        "sex",
        "everyone who meets the person knows it",
        "sex, gender, geschlecht, sexe, genre, sexo, genero, geslacht, sesso, genere",
    ),
    _quasi_identifier_concept(
        "postcode",
        _LISTS,
        "zip, zip code, zipcode, zip5, postcode, postal code, post code, postalcode, plz, postleitzahl, code postal, "
        "codigo postal, =cp, =cap, codice postale, cep, =npa",
        "B",
    ),
    _quasi_identifier_concept(
        "place",
        _LISTS,
        "city, town, village, municipality, county, district, neighborhood, neighbourhood, precinct, census "
        "tract, block group, suburb, location, =place, residence, =ort, stadt, gemeinde, landkreis, kreis, wohnort, "
        "bezirk, ville, commune, departement, ciudad, municipio, localidad, barrio, gemeente, =plaats, "
        "woonplaats, citta, comune, quartiere, cidade, concelho, freguesia, bairro",
        "B",
    ),
    _quasi_identifier_concept(
        "coordinates",
        "a point on the map is a home or a workplace",
        "latitude, longitude, =lat, =lon, =lng, =long, geo, gps, coordinates, geohash, breitengrad, langengrad, "
        "latitud, longitud, latitudine, longitudine",
        "B",
    ),
    _quasi_identifier_concept(
        "region",
        _LISTS,
        "=state, us state, home state, province, region, canton, bundesland, land kreis, provincia, =estado, provincie, regione, "
        "regiao, comunidad autonoma, statenum",
    ),
    _quasi_identifier_concept(
        "country",
        _PROFILE,
        "country, native country, country of birth, birthplace, place of birth, birth place, birth country, city of birth, =land, "
        "herkunftsland, geburtsland, geburtsort, pays, lieu de naissance, pais, lugar de nacimiento, "
        "geboorteland, geboorteplaats, paese, luogo di nascita, local de nascimento, naturalidade",
    ),
    _quasi_identifier_concept(
        "nationality",
        _LISTS,
        "nationality, citizenship, nationalitat, staatsangehorigkeit, nationalite, nacionalidad, ciudadania, "
        "nationaliteit, nazionalita, cittadinanza, nacionalidade, immigration status, residence status",
    ),
    _quasi_identifier_concept(
        "language",
        "everyone who talks to the person knows it",
        "language, mother tongue, native language, sprache, muttersprache, langue, idioma, lengua, taal, "
        "moedertaal, lingua, lingua madre",
    ),
    _quasi_identifier_concept(
        "race or ethnicity",
        f"neighbors can see it; it is also {_SPECIAL}",
        "race, ethnicity, ethnic, ethnic group, hispanic, tribe, caste, skin color, ethnie, herkunft, "
        "migrationshintergrund, raza, etnia, etnicidad, etniciteit, razza, raca, cor raca",
    ),
    _quasi_identifier_concept(
        "occupation",
        _PROFILE,
        "occupation, profession, job, job title, position title, work class, workclass, employment, employment status, beruf, "
        "berufsgruppe, tatigkeit, metier, emploi, profesion, ocupacion, trabajo, beroep, functie, professione, "
        "lavoro, profissao, ocupacao, rank, military, veteran, hours per week, work hours, working hours",
    ),
    _quasi_identifier_concept(
        "employer, school or clinic",
        "everyone who goes there too knows it",
        "employer, company, company name, organization, organisation, department, firm, arbeitgeber, firma, "
        "abteilung, employeur, entreprise, empresa, empleador, werkgever, bedrijf, datore di lavoro, azienda, "
        "empregador, school, university, schule, hochschule, ecole, escuela, universidad, universita, scuola, "
        "escola, hospital, clinic, practice, ward, krankenhaus, hopital, ziekenhuis, ospedale",
    ),
    _quasi_identifier_concept(
        "education",
        _PROFILE,
        "education, education level, education num, educ, degree, qualification, schooling, years of schooling, bildung, "
        "bildungsabschluss, schulabschluss, niveau d etudes, etudes, diplome, educacion, estudios, nivel "
        "educativo, opleiding, istruzione, titolo di studio, educacao, escolaridade",
    ),
    _quasi_identifier_concept(
        "marital status",
        _SEEN,
        "marital, marital status, marriage, married, marstat, civil status, relationship, relationship "
        "status, familienstand, verheiratet, situation familiale, etat civil, estado civil, burgerlijke "
        "staat, stato civile, situacao familiar, spouse",
    ),
    _quasi_identifier_concept(
        "household",
        _SEEN,
        "household, household size, family size, familysize, number of children, children, num children, kids, "
        "dependents, haushalt, haushaltsgrosse, kinder, anzahl kinder, menage, enfants, nombre d enfants, hogar, "
        "hijos, huishouden, kinderen, famiglia, figli, filhos, agregado familiar, home ownership, housing",
    ),
    _quasi_identifier_concept(
        "physical feature",
        _SEEN,
        "height, weight, hair color, eye color, bmi, korpergrosse, grosse, gewicht, taille, poids, estatura, "
        "peso, lengte, altezza, altura, vehicle make, car model",
    ),
    _quasi_identifier_concept(
        "date of an event",
        "people who were there, or read of it, know it",
        "date, day, weekday, =dow, timestamp, =dt, admit dt, disch dt, =admit, =dos, admission date, discharge date, visit date, death date, date of death, hire date, admission, discharge, "
        "created at, updated at, datum, =tag, aufnahmedatum, entlassungsdatum, sterbedatum, todesdatum, fecha, "
        "=data, jour, dag, =year, =month, =jahr, =monat, =annee, =mois, =ano, =mes, =anno, death mon, death day, "
        "deathmon, deathday, jaar, maand",
        "C",
    ),
    _sensitive_concept(
        "health",
        _SPECIAL,
        "diagnosis, diagnoses, diagnosis code, cpt, hcpcs, loinc, ndc, drg, snomed, wbc, platelet, hemoglobin, creatinine, egfr, pain score, "
        " disease, illness, condition, icd, icd9, icd10, icd code, symptom, disorder, "
        "disability, medication, drug, prescription, treatment, therapy, procedure, surgery, hiv, aids, cancer, "
        "diabetes, depression, mental health, psychiatric, allergy, blood type, blood pressure, cholesterol, glucose, "
        "lab result, test result, pregnant, pregnancy, abortion, vaccination, injury, smoker, alcohol, "
        "health, medical condition, cause of death, severity, diagnose, krankheit, erkrankung, medikament, "
        "behandlung, therapie, befund, behinderung, blutgruppe, schwangerschaft, maladie, medicament, traitement, "
        "handicap, grossesse, diagnostic, diagnostico, enfermedad, medicamento, tratamiento, discapacidad, "
        "embarazo, ziekte, aandoening, medicatie, behandeling, zwanger, diagnosi, malattia, farmaco, trattamento, "
        "terapia, gravidanza, doenca, tratamento, deficiencia, gravidez",
    ),
    _sensitive_concept(
        "genetics",
        _SPECIAL,
        "genetic, genetics, genotype, genome, dna, snp, mutation, variant allele, brca, genotyp, genetisch, "
        "genetique, genetica",
    ),
    _sensitive_concept(
        "religion or belief",
        _SPECIAL,
        "religion, religious, denomination, church, faith, belief, konfession, glaube, kirche, kirchensteuer, "
        "croyance, religione, religiao, creencia, geloof, godsdienst, kerk, credo",
    ),
    _sensitive_concept(
        "politics",
        _SPECIAL,
        "political, politics, political party, =party, vote, voted for, ballot, partei, parteizugehorigkeit, "
        "politik, parti politique, politique, partido, partido politico, partij, politiek, partito, politica",
    ),
    _sensitive_concept(
        "union membership",
        _SPECIAL,
        "union, trade union, union member, gewerkschaft, syndicat, sindicato, vakbond, sindacato",
    ),
    _sensitive_concept(
        "sexual life",
        _SPECIAL,
        "sexual orientation, sexual preference, sexuality, sex life, sexuelle orientierung, orientation "
        "sexuelle, orientacion sexual, seksuele geaardheid, orientamento sessuale, orientacao sexual, "
        "sex partners, std, gender identity",
    ),
    _sensitive_concept(
        "crime",
        "criminal convictions and offences (GDPR art. 10)",
        "crime, criminal, conviction, offence, offense, felony, arrest, arrested, prison, sentence, "
        "recidivism, straftat, vorstrafe, verurteilung, haft, infraction, condamnation, delito, condena, "
        "antecedentes penales, misdrijf, strafblad, veroordeling, reato, condanna, crimen, crime cometido",
    ),
    _sensitive_concept(
        "income",
        _MONEY,
        "salary, income, wage, wages, pay, earnings, bonus, compensation, pension, net worth, wealth, "
        "capital gain, capital loss, salary class, gehalt, einkommen, lohn, verdienst, vermogen, rente, "
        "salaire, revenu, remuneration, salario, sueldo, ingreso, ingresos, renta, salaris, inkomen, loon, "
        "stipendio, reddito, rendimento, vencimento, ordenado, renda",
    ),
    _sensitive_concept(
        "debts and payments",
        _MONEY,
        "debt, loan, credit, credit score, credit limit, balance, bal, mortgage, overdue, default, bankruptcy, "
        "arrears, payment, pay amt, bill, bill amt, bill amount, amount, donation, charge, charges, expense, "
        "cost, insurance, insurance type, versicherung, krankenkasse, assurance, seguro, verzekering, assicurazione, benefit, welfare, allowance, schulden, kredit, kontostand, saldo, "
        "zahlung, betrag, sozialhilfe, dette, pret, montant, deuda, prestamo, importe, monto, schuld, lening, "
        "bedrag, debito, prestito, importo, divida, emprestimo, valor",
    ),
    _sensitive_concept(
        "grades and ratings",
        "a judgment of the person",
        "grade, grades, gpa, exam score, test score, performance rating, performance review, evaluation, "
        "appraisal, iq, note schule, zensur, schulnote, notendurchschnitt, bewertung, calificacion, "
        "cijfer, voto, voti, valutazione, nota, notas, avaliacao, moyenne",
    ),
    _sensitive_concept(
        "outcome to predict",
        "an outcome worth predicting is worth learning about a person",
        "=target, =outcome, =label, =class, =y, =result, =zielvariable, =cible, =objetivo",
    ),
    Concept(
        "technical field",
        ColumnRole.INSENSITIVE,
        "it describes the file or a unit of measure, not the person",
        "currency, unit of measure, =version, file format, schema version, encoding, wahrung, devise, moneda, valuta",
    ),
)
