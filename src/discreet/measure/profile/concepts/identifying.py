"""Concepts that name one person: direct identifiers, and text that may hold them."""

from __future__ import annotations

from discreet.measure.profile.concepts.concept import FREE_TEXT, Concept
from discreet.policy.model import ColumnRole


def _identifier_concept(
    name: str, safe_harbor: str | None, phrases: str, *, is_written: bool = False
) -> Concept:
    return Concept(
        name,
        ColumnRole.IDENTIFIER,
        "names one person",
        phrases,
        safe_harbor,
        is_written=is_written,
    )


IDENTIFYING = (
    _identifier_concept(
        "person name",
        "A",
        "=name, =names, =first, =last, =middle, =given, =family, full name, first name, last name, middle name, given name, family name, surname, "
        "forename, maiden name, preferred name, legal name, alias, patient name, customer name, client name, employee name, person name, "
        "student name, contact name, fname, lname, mname, fullname, initials, signature, "
        "doctor, doctor name, physician, physician name, surgeon, attending, attending physician, referring physician, "
        "referring provider, gp name, nurse name, therapist, clinician, caregiver, carer, provider name, practitioner name, investigator name, "
        "interviewer, next of kin, nok, emergency contact, contact person, guardian, mother name, father name, parent name, "
        "spouse name, partner name, relative name, child name, assistant name, manager name, supervisor, account holder, cardholder, card holder, "
        "holder name, owner name, payee, sender name, recipient name, author name, created by, updated by, modified by, entered by, stored by, "
        "vorname, nachname, zuname, familienname, geburtsname, mädchenname, rufname, patientenname, kundenname, arzt, ärztin, arztname, hausarzt, "
        "zuweiser, einweiser, überweiser, operateur, behandler, ansprechpartner, kontaktperson, angehörige, angehöriger, "
        "bezugsperson, betreuer, vormund, name der mutter, name des vaters, unterschrift, sachbearbeiter, bearbeiter, kontoinhaber, "
        "=nom, prénom, prénoms, nom de famille, nom complet, nom de naissance, nom usuel, nom patient, nom du patient, nom de jeune fille, médecin, "
        "médecin traitant, praticien, chirurgien, personne à prévenir, personne de confiance, personne contact, nom du père, nom de la mère, tuteur, "
        "=nombre, nombre completo, nombre del paciente, nombre paciente, apellido, apellidos, médico, médico responsable, cirujano, persona de contacto, "
        "contacto de emergencia, contacto emergencia, =familiar, nombre del padre, nombre de la madre, tutor legal, "
        "imię, imiona, imię i nazwisko, nazwisko, nazwisko rodowe, lekarz, lekarz prowadzący, osoba kontaktowa, osoba do kontaktu, "
        "opiekun, imię matki, imię ojca, "
        "=nome, cognome, nome e cognome, nominativo, nome completo, nome paziente, medico curante, medico di base, medico, chirurgo, "
        "persona di riferimento, contatto di emergenza, nome del padre, nome della madre, tutore, "
        "=naam, voornaam, achternaam, tussenvoegsel, roepnaam, meisjesnaam, volledige naam, huisarts, behandelaar, behandelend arts, "
        "contactpersoon, mantelzorger, voogd, "
        "sobrenome, apelido, nome do pai, nome da mae, "
        "=nachn, =vorna, =ename, =cname, =name1, =name2, =invnam",
        is_written=True,
    ),
    _identifier_concept(
        "e-mail address",
        "F",
        "email, e mail, =eml, mail address, email address, courriel, adresse mail, adresse électronique, correo, correo electrónico, =mail, posta "
        "elettronica, indirizzo mail, adres email, mailadresse, =telecom",
        is_written=True,
    ),
    _identifier_concept(
        "fax number",
        "E",
        "fax, fax number, telefax, faxnummer, numéro de fax, télécopie, numer faksu, faks",
    ),
    _identifier_concept(
        "phone number",
        "D",
        "phone, telephone, phone number, phone no, mobile number, mobile phone, mobile no, =mobile, =cell, cell phone, cellphone, "
        "cell number, contact number, home phone, work phone, =tel, tel number, tel nr, tel no, tel home, tel work, =msisdn, whatsapp, "
        "telefon, telefonnummer, telefonnr, rufnummer, handy, handynummer, mobilnummer, mobilfunk, mobiltelefon, festnetz, durchwahl, "
        "téléphone, numéro de téléphone, num tel, tél portable, tél fixe, =portable, teléfono, móvil, número de teléfono, telef, "
        "numer telefonu, nr telefonu, komórka, telefon komórkowy, cellulare, recapito telefonico, numero di telefono, "
        "telefoon, telefoonnummer, gsm, mobiel nummer, mobiel, telefone, celular, telemovel, =telnr, =telf1",
    ),
    _identifier_concept(
        "street address",
        "B",
        "address, home address, street, street number, street no, street name, street address, house number, house no, =addr, address line, addr1, addr line, apartment number, mailing address, "
        "billing address, shipping address, adresse, straße, straßenname, hausnummer, hausnr, anschrift, wohnadresse, =rue, numéro de rue, voie, "
        "dirección, domicilio, =calle, dom calle, adres, adres zamieszkania, ulica, numer domu, nr domu, nr mieszkania, "
        "indirizzo, =via, numero civico, straat, straatnaam, huisnummer, huisnr, "
        "endereco, morada, =rua, =stras, =hausn",
    ),
    _identifier_concept(
        "national number",
        "G",
        "ssn, soc sec, socsec, soc sec no, social security, social security number, social insurance number, national id, national identifier, national number, national insurance "
        "number, nino, nin, nhs no, =bsn, burgerservicenummer, sofinummer, dni, =nie, dni nie, =nif, nir, numéro de sécurité sociale, num secu, numéro sécu, nss, nuss, "
        "sécurité sociale, seguridad social, documento de identidad, documento identidad, num documento, "
        "steuer id, steuerid, steuernummer, steuer nr, steuer identifikationsnummer, tax id, tax number, taxpayer id, tin, "
        "sozialversicherungsnummer, sozialversicherungsnr, sv nummer, sv nr, svnr, rentenversicherungsnummer, rvnr, "
        "codice fiscale, cod fiscale, codfisc, personnummer, personal identity code, hetu, "
        "henkilotunnus, fodselsnummer, cpr, cpr number, pesel, nr pesel, numer pesel, nip, cpf, aadhaar, aadhar, ahv, ahv nr, avs, tfn, "
        "sin number, curp, rut, cedula, identity number, identity card, personalausweis, ausweisnummer, ausweisnr, id card, dowód osobisty, numer dowodu, "
        "carte d identité, carta d identità, nir ano, matricule, insee nir",
    ),
    _identifier_concept(
        "medical record number",
        "H",
        "mrn, medical record, medical record number, chart number, hospital number, patient number, nhs, accession number, encounter number, visit number, "
        "nhs number, chi number, patientennummer, patientennr, fallnummer, fallnr, aufnahmenummer, aufnahmenr, numéro de dossier, numéro dossier, num dossier, ipp, "
        "iep, nda, num rss, num rsa, historia clínica, num historia, nhc, número de historia, numer pacjenta, numer historii choroby, nr karty, numer kartoteki, "
        "patientnummer, patiëntnummer, cartella clinica, numero cartella, prontuario, record number, kh internes kennzeichen, sample barcode, specimen number",
    ),
    _identifier_concept(
        "health plan number",
        "I",
        "member number, policy number, insurance number, health plan number, beneficiary number, medicare, hicn, mbi, "
        "medicare number, medicaid number, subscriber number, versichertennummer, versichertennr, versichertenid, krankenversichertennummer, "
        "krankenversicherungsnummer, kvnr, egk nummer, numéro d assuré, numéro adhérent, carte vitale, número de póliza, número de afiliado, tarjeta sanitaria, cip sns, "
        "numer polisy, numer ubezpieczenia, polisnummer, verzekerdennummer, tessera sanitaria, numero di polizza, cartao de saude, sns",
    ),
    _identifier_concept(
        "account number",
        "J",
        "iban, account number, account no, acct, acct number, bank account, card number, credit card number, credit card no, =credit card, =creditcard, "
        "debit card, cc number, kontonummer, kontonr, bankverbindung, kreditkarte, kreditkartennummer, kundennummer, kundennr, mitgliedsnummer, customer number, "
        "membership number, loyalty number, numéro de compte, num compte, =rib, numéro client, "
        "carte bancaire, cuenta bancaria, número de cuenta, tarjeta de crédito, numer konta, nr konta, rachunek bankowy, numer rachunku, numer klienta, "
        "rekeningnummer, klantnummer, lidnummer, conto corrente, numero conto, carta di "
        "credito, conta bancaria, cartao de credito, swift, wallet address, =bankn, =bankl",
    ),
    _identifier_concept(
        "certificate or license number",
        "K",
        "license number, licence number, npi, npi number, dea number, lanr, bsnr, rpps, adeli, driver license, drivers license, driver licence, driving licence, driving license, certificate number, "
        "passport, passport number, passport no, =visa number, führerschein, führerscheinnummer, reisepass, reisepassnummer, passnummer, "
        "passeport, numéro passeport, permis de conduire, pasaporte, permiso de conducir, carnet de conducir, paszport, numer paszportu, prawo jazdy, "
        "paspoort, paspoortnummer, rijbewijs, big nummer, agb code, "
        "passaporto, patente di guida, passaporte",
    ),
    _identifier_concept(
        "vehicle identifier",
        "L",
        "vin, license plate, licence plate, number plate, plate number, plate no, =plate, registration plate, vehicle id, vehicle registration, reg plate, "
        "autokennzeichen, kfz kennzeichen, amtliches kennzeichen, =kennzeichen, fahrgestellnummer, fin nummer, immatriculation, plaque, plaque immatriculation, matrícula, "
        "numer rejestracyjny, nr rejestracyjny, tablica rejestracyjna, kenteken, targa, placa",
    ),
    _identifier_concept(
        "device identifier",
        "M",
        "device id, device identifier, serial number, serial no, imei, imsi, iccid, udid, udi, mac address, mac addr, device serial, implant serial, "
        "seriennummer, gerätenummer, numéro de série, número de serie, numer seryjny, "
        "serienummer, numero di serie, advertising id, idfa, gaid, android id, cookie id, device token",
    ),
    _identifier_concept(
        "web address",
        "N",
        "url, website, web page, homepage, profile link, webseite, site web, sitio web, página web, strona internetowa, sito web, linkedin, facebook, "
        "twitter, instagram, refurl, referrer url",
        is_written=True,
    ),
    _identifier_concept(
        "IP address",
        "O",
        "ip, ip address, ip addr, ipaddr, ipaddress, client ip, remote addr, ipv4, ipv6, ip adresse, adresse ip, dirección ip, adres ip, indirizzo ip, ip adres",
    ),
    _identifier_concept(
        "biometric identifier",
        "P",
        "fingerprint, fingerprints, iris scan, retina scan, voice print, voiceprint, face encoding, face embedding, biometric, biometric template, "
        "fingerabdruck, biometrisch, empreinte digitale, huella dactilar, odcisk palca, vingerafdruk, impronta digitale",
    ),
    _identifier_concept(
        "photograph",
        "Q",
        "photo, photograph, portrait, avatar, selfie, profile picture, photo url, lichtbild, passbild, foto, zdjęcie, fotografía",
    ),
    _identifier_concept(
        "user name",
        "R",
        "username, user name, login, login name, screen name, nickname, user handle, =handle, twitter handle, user login, "
        "benutzername, nutzername, benutzerkennung, anmeldename, nom d utilisateur, identifiant, nombre de usuario, nazwa użytkownika, "
        "gebruikersnaam, nome utente, nome de usuario, password, passwort, mot de passe, contraseña, hasło, wachtwoord, =pin",
    ),
    _identifier_concept(
        "unique code",
        "R",
        "idno, id no, id number, idnr, pidnum, pid no, respid, respondent id, serialno, serial id, seq no, sequence number, record no, recno, rowid, case no, caseno, case number, case nr, docket number, file number, application number, account id, loan number, claim number, arrest number, incident number, report number, uuid, guid, =hash, token, session id, sessionid, response id, responseid, record id, recordid, row id, case id, caseid, tracked entity, "
        "tracked entity instance, event id, enrollment id, participant code, subject code, screening number, randomization number, "
        "usubjid, subjid, person source value, pernr, personalnummer, personalnr, mitarbeiternummer, dienstnummer, schülernummer, matrikelnummer, "
        "employee number, staff number, badge number, student number, pupil number, numéro étudiant, numéro agent, numero de empleado, legajo, "
        "numer pracownika, numer albumu, matricola, personeelsnummer, studentnummer, barcode, transaction id, order number, invoice number, ticket number, "
        "aktenzeichen, kassenzeichen, rechnungsnummer, vorgangsnummer, belegnummer, referenznummer, numéro de facture, número de expediente, expediente, "
        "sygnatura, numero pratica, dossiernummer, factuurnummer",
    ),
    _identifier_concept(
        FREE_TEXT,
        None,
        "note, notes, comment, comments, remark, remarks, free text, freetext, narrative, memo, observations, verbatim, additional information, "
        "clinical note, progress note, note text, discharge summary, discharge letter, anamnesis, chief complaint, other specify, please specify, "
        "~description, ~text, ~history, ~finding, ~findings, ~impression, ~summary, ~report, ~message, ~complaint, ~feedback, ~observation, ~answer text, ~details, ~body, ~subject line, "
        "bemerkung, bemerkungen, anmerkung, anmerkungen, kommentar, kommentare, notiz, notizen, freitext, arztbrief, entlassbrief, anamnese, hinweistext, sonstiges text, "
        "~beschreibung, ~befundtext, ~verlauf, ~epikrise, ~text, "
        "commentaire, commentaires, remarque, remarques, observations cliniques, texte libre, compte rendu, lettre de sortie, anamnèse, "
        "comentario, comentarios, observación, observaciones, notas, notas clínicas, texto libre, anamnesis, ~descripción, "
        "uwagi, komentarz, komentarze, notatka, notatki, opis, spostrzeżenia, wywiad, "
        "osservazione, osservazioni, commento, commenti, annotazioni, testo libero, ~descrizione, "
        "opmerking, opmerkingen, toelichting, aantekening, aantekeningen, vrije tekst, ~omschrijving, "
        "observacao, observacoes, comentarios",
        is_written=True,
    ),
)
