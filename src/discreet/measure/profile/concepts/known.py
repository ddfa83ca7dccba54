"""Concepts that outsiders often know of a person: quasi-identifiers."""

from __future__ import annotations

from discreet.measure.profile.concepts.concept import Concept
from discreet.policy.model import ColumnRole

_SEEN = "neighbors and colleagues can see it"
_LISTS = "voter lists and registers hold it"
_PROFILE = "social profiles and résumés show it"
_COLLEAGUES = "everyone who goes there too knows it"


def _quasi_identifier_concept(
    name: str,
    reason: str,
    phrases: str,
    safe_harbor: str | None = None,
    *,
    values: str = "",
    is_code: bool = False,
) -> Concept:
    return Concept(
        name,
        ColumnRole.QUASI_IDENTIFIER,
        reason,
        phrases,
        safe_harbor,
        values=values,
        is_code=is_code,
    )


KNOWN = (
    _quasi_identifier_concept(
        "birth date",
        "voter lists hold it",
        "dob, birth date, birthdate, bday, date of birth, birthday, birth day, birth dt, date birth, born, birth datetime, "
        "geburtsdatum, geburtstag, geb datum, gebdatum, gebdat, geb dat, "
        "date de naissance, date naissance, naissance, dnais, date nais, fecha de nacimiento, fecha nacimiento, fec nac, fecha nac, fecnac, nacimiento, "
        "data urodzenia, urodzenia, geboortedatum, geboortedag, data di nascita, data nascita, datanascita, data de nascimento, nascimento, "
        "=gbdat, =brthdtc, =brthdat",
        "C",
    ),
    _quasi_identifier_concept(
        "birth year",
        "friends and colleagues know it",
        "birth year, year of birth, birth yr, yr birth, yr of birth, yob, birthyear, geburtsjahr, jahrgang, geb jahr, gebjahr, année de naissance, "
        "année naissance, an nais, ano de "
        "nacimiento, año nacimiento, año de nacimiento, rok urodzenia, geboortejaar, anno di nascita, anno nascita, ano de nascimento",
        "C",
    ),
    _quasi_identifier_concept(
        "age",
        "friends and colleagues know it",
        "age, age group, age years, age at, age yrs, age band, age class, agecat, =yrs, =agep, alter, alter jahre, alter in jahren, altersgruppe, altersklasse, "
        "lebensalter, âge, tranche d âge, classe d âge, edad, grupo de edad, wiek, grupa wiekowa, leeftijd, leeftijdsgroep, età, fascia d età, idade, "
        "=ageyr, =agegr1",
        "C",
    ),
    _quasi_identifier_concept(
        "age in months or days",
        "it is the birth date, counted from the day of the event",
        "age in months, age months, age in days, age days, age in weeks, age weeks, age in hours, agemo, =agem, "
        "days since birth, months since birth, "
        "alter in monaten, alter monate, alter in tagen, alter in wochen, âge en mois, âge en jours, edad en meses, edad meses, "
        "edad en días, wiek w miesiącach, wiek w dniach, età in mesi, età in giorni, leeftijd in maanden, leeftijd in dagen",
        "C",
    ),
    _quasi_identifier_concept(
        "sex",
        "everyone who meets the person knows it",
        "sex, gender, geschlecht, geschl, =gesch, sexe, genre, civilité, sexo, género, płeć, geslacht, sesso, genere, gender concept, administrative gender",
        is_code=True,
        values="male, female, man, woman, men, women, mann, frau, männlich, weiblich, homme, femme, masculin, féminin, hombre, mujer, "
        "masculino, femenino, feminino, mężczyzna, kobieta, vrouw, mannelijk, vrouwelijk, uomo, donna, maschio, femmina, homem, mulher, "
        "boy, girl, divers, diverse, nonbinary, nb, m, f, w, k, v | d, x, u, h, other",
    ),
    _quasi_identifier_concept(
        "postcode",
        _LISTS,
        "zip, zip code, zipcode, zip5, zip3, zcta, postcode, post code, postal code, postalcode, address postal code, address zip, plz, postleitzahl, code postal, cod post, cpostal, "
        "código postal, cod postal, =cp, kod pocztowy, =cap, codice postale, codice avviamento postale, postcodegebied, cep, =npa, =pstlz",
        "B",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "place",
        _LISTS,
        "city, address city, address district, address town, mailing city, billing city, town, village, municipality, county, district, neighborhood, neighbourhood, borough, parish, precinct, census "
        "tract, tract, block group, blockgroup, suburb, location, =place, residence, place of residence, locality, lsoa, msoa, output area, fips, county fips, "
        "commuting zone, puma, metro area, metarea, msa, cbsa, nuts3, nuts 3, "
        "=ort, stadt, gemeinde, gemeindeschlüssel, gemeindekennziffer, ags, ags8, landkreis, kreis, kreisschlüssel, kreiskennziffer, wohnort, ortsteil, stadtteil, bezirk, "
        "ville, commune, code commune, code insee, insee, codgeo, arrondissement, canton commune, département, dept, lieu de résidence, iris, "
        "ciudad, municipio, localidad, población residencia, barrio, distrito, comarca, cod municipio, lugar de residencia, "
        "miasto, miejscowość, gmina, powiat, teryt, dzielnica, miejsce zamieszkania, "
        "città, comune, comune di residenza, codice comune, codice istat, quartiere, località, "
        "gemeente, gemeentecode, wijk, buurt, =plaats, woonplaats, "
        "cidade, concelho, freguesia, bairro, =ort01",
        "B",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "coordinates",
        "a point on the map is a home or a workplace",
        "latitude, longitude, =lat, =lon, =lng, =long, geo, gps, coordinates, coordinate, geohash, geopoint, geometry, easting, northing, "
        "breitengrad, längengrad, koordinaten, coordonnées, coordenadas, współrzędne, szerokość geograficzna, długość geograficzna, "
        "latitud, longitud, latitudine, longitudine, coordinate geografiche, breedtegraad, lengtegraad",
        "B",
    ),
    _quasi_identifier_concept(
        "region",
        _LISTS,
        "=state, address state, mailing state, billing state, us state, home state, state code, state name, state fips, statefip, province, region, regional, area code, canton, nuts, nuts code, nuts1, nuts2, urban rural, urbanicity, rural, "
        "urban, =urbrur, bundesland, land kreis, regionalschlüssel, stadt land, région, région de résidence, "
        "provincia, =estado, comunidad autónoma, ccaa, województwo, region zamieszkania, provincie, landsdeel, regione, regione di residenza, "
        "regiao, statenum, =bland, =regio",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "country",
        _PROFILE,
        "country, address country, mailing country, billing country, native country, country of birth, birth country, country birth, country of residence, country code, ctry, cntry, bpl, nation, "
        "=land, herkunftsland, geburtsland, wohnland, ländercode, pays, pays de naissance, pays de résidence, "
        "país, país de nacimiento, kraj, kraj urodzenia, kraj pochodzenia, "
        "geboorteland, land van herkomst, paese, paese di nascita, stato di nascita, =land1",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "place of birth",
        _PROFILE,
        "birthplace, place of birth, birth place, city of birth, birth city, geburtsort, lieu de naissance, commune de naissance, lugar de nacimiento, "
        "miejsce urodzenia, geboorteplaats, luogo di nascita, comune di nascita, local de nascimento, naturalidade, =gbort",
        "B",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "nationality",
        _LISTS,
        "nationality, citizenship, citizen, foreigner, foreign worker, foreign born, born abroad, nationalität, staatsangehörigkeit, staatsbürgerschaft, nationalité, nacionalidad, ciudadanía, "
        "narodowość, obywatelstwo, nationaliteit, nazionalità, cittadinanza, nacionalidade, immigration status, residence status, visa status, aufenthaltsstatus, "
        "titre de séjour, =natio",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "language",
        "everyone who talks to the person knows it",
        "language, mother tongue, native language, startlanguage, spoken language, sprache, muttersprache, langue, langue maternelle, idioma, lengua, lengua materna, "
        "język, język ojczysty, taal, moedertaal, lingua, lingua madre, =sprsl",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "occupation",
        _PROFILE,
        "occupation, occup, =occ, profession, job, job title, job code, job role, position title, work class, workclass, worker class, employment, employment status, employed, unemployed, unemployment, self employed, retired, job seeker, employment duration, job tenure, labor force, labour force, empstat, wrkstat, wrkstatus, industry, sector, nace, isco, soc code, naics, "
        "specialty, speciality, physician specialty, doctor specialty, beruf, berufsgruppe, berufsbezeichnung, erwerbsstatus, erwerbstätigkeit, "
        "beschäftigung, tätigkeit, branche, wirtschaftszweig, fachrichtung, stellung im beruf, klassifikation der berufe, "
        "métier, emploi, catégorie socioprofessionnelle, csp, pcs, situation professionnelle, activité professionnelle, secteur d activité, "
        "profesión, ocupación, trabajo, situación laboral, actividad económica, zawód, wykonywany zawód, zatrudnienie, status zatrudnienia, "
        "beroep, functie, arbeidsstatus, dienstverband, professione, lavoro, condizione professionale, occupazione, "
        "profissao, ocupacao, rank, military, veteran, hours per week, work hours, working hours, =stell, =plans, =persg, =persk",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "employer",
        _COLLEAGUES,
        "employer, employer name, company, company name, organization, organisation, organization name, firm, "
        "arbeitgeber, firma, firmenname, betrieb, employeur, entreprise, siret, raison sociale, empresa, empleador, "
        "pracodawca, firma zatrudniająca, werkgever, bedrijf, bedrijfsnaam, datore di lavoro, azienda, empregador, =bukrs",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "school or clinic",
        _COLLEAGUES,
        "school, school name, university, college, kindergarten, hospital, hospital name, clinic, facility, facility name, care site, practice, "
        "medical center, health center, managing organization, org unit, orgunit, org unit name, "
        "schule, hochschule, universität, krankenhaus, klinik, praxis, standort, entlassender standort, "
        "établissement, école, université, hôpital, clinique, finess, centre hospitalier, "
        "escuela, colegio, universidad, centro de salud, centro médico, clínica, "
        "szkoła, uczelnia, szpital, przychodnia, ziekenhuis, instelling, "
        "scuola, università, ospedale, struttura sanitaria, escola, =siteid, =site, =werks",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "department",
        _COLLEAGUES,
        "department, ward, business unit, cost center, team name, abteilung, station, fachabteilung, kostenstelle, service hospitalier, "
        "departamento, oddział, afdeling, reparto, =orgeh, =kostl, =fab",
        is_code=True,
    ),
    _quasi_identifier_concept(
        "education",
        _PROFILE,
        "education, education level, edu, edulevel, education num, educ, educational attainment, attainment, highest grade, degree, qualification, schooling, years of schooling, school years, "
        "bildung, bildungsabschluss, bildungsniveau, schulabschluss, berufsabschluss, ausbildung, höchster abschluss, niveau d études, études, diplôme, niveau de diplôme, "
        "educación, estudios, nivel educativo, nivel de estudios, nivel estudios, formación, wykształcenie, poziom wykształcenia, "
        "opleiding, opleidingsniveau, istruzione, titolo di studio, livello di istruzione, educacao, escolaridade",
        values="bachelor*, master's degree, masters, doctorate, phd, high school, hs-grad, some-college, some college, college graduate, associate degree, "
        "prof-school, hauptschul*, realschul*, abitur, mittlere reife, hochschulabschluss, fachhochschulreife, baccalauréat, licence, brevet, sans diplôme, "
        "bachillerato, licenciatura, educación primaria, educación secundaria, wyższe, średnie, podstawowe, laurea, diploma di maturità, licenza media, "
        "havo, vwo, vmbo, mbo, hbo | primary, secondary, tertiary, university, assoc*, preschool, zawodowe, wo, universitaire, universitarios",
    ),
    _quasi_identifier_concept(
        "marital status",
        _SEEN,
        "marital, marital status, marriage, married, marstat, maritl, civil status, civilstatus, relationship, relationship "
        "status, familienstand, verheiratet, zivilstand, partnerschaft, situation familiale, situation matrimoniale, état civil, état matrimonial, statut matrimonial, "
        "estado civil, situación familiar, stan cywilny, burgerlijke "
        "staat, burgelijke staat, stato civile, situacao familiar, spouse, =famst",
        is_code=True,
        values="married*, divorced, widow*, never-married, never married, separated, civil partner*, verheiratet, ledig, geschieden, verwitwet, "
        "getrennt lebend, marié*, célibataire, divorcé*, veuf, veuve, pacsé*, casad*, solter*, divorciad*, viud*, żonaty, zamężna, kawaler, panna, rozwiedzion*, "
        "wdow*, sposat*, celibe, nubile, divorziat*, vedov*, coniugat*, gehuwd, ongehuwd, gescheiden, weduw* | single",
    ),
    _quasi_identifier_concept(
        "household",
        _SEEN,
        "household, household size, hhsize, hh size, family size, familysize, famsize, household type, household composition, number of children, children, num children, nchild, childs, hompop, kids, siblings, number of siblings, "
        "dependents, dependants, number of persons, head of household, relation to head, relate, haushalt, haushaltsgröße, haushaltstyp, kinder, anzahl kinder, anzahl personen, kinderzahl, "
        "ménage, taille du ménage, type de ménage, enfants, nombre d enfants, nb enfants, hogar, tamaño del hogar, "
        "hijos, número de hijos, num hijos, gospodarstwo domowe, liczba dzieci, dzieci, liczba osób, huishouden, kinderen, aantal kinderen, famiglia, nucleo familiare, figli, numero figli, "
        "filhos, agregado familiar, home ownership, housing, dwelling, dwelling type, type of dwelling, tenure, rooms, number of rooms, bedrooms, roof, walls, floor material, water source, drinking water, toilet, sanitation, electricity, cooking fuel, car ownership, number of cars, wohnsituation, wohnform, logement, type de logement, vivienda, mieszkanie, abitazione, woning, =anzkd",
    ),
    _quasi_identifier_concept(
        "physical feature",
        _SEEN,
        "height, weight, body weight, body height, weight kg, height cm, hair color, eye color, skin tone, bmi, shoe size, körpergröße, größe, gewicht, körpergewicht, taille, poids, "
        "estatura, talla, peso, peso corporal, wzrost, waga, masa ciała, lengte, lichaamslengte, lichaamsgewicht, altezza, altura, vehicle make, car model, handedness, tattoo",
    ),
    _quasi_identifier_concept(
        "date of an event",
        "people who were there, or read of it, know it",
        "date, timestamp, datetime, =dt, admit dt, disch dt, =admit, =dos, admission date, discharge date, visit date, death date, date of death, hire date, "
        "admission, discharge, start date, end date, begin date, onset date, enrollment date, event date, incident date, submitdate, startdate, datestamp, lastupdated, last updated, "
        "created at, updated at, created, modified, last modified, system modstamp, registration date, membership since, member since, customer since, "
        "datum, zeitpunkt, zeitstempel, aufnahmedatum, aufnahmetag, entlassungsdatum, entlassdatum, entlassungstag, sterbedatum, todesdatum, eintrittsdatum, austrittsdatum, beginn, "
        "date d entrée, date de sortie, date entrée, date sortie, date de décès, date d admission, horodatage, "
        "fecha, fecha de ingreso, fecha de alta, fecha ingreso, fecha de defunción, =data, data przyjęcia, data wypisu, data zgonu, data wizyty, "
        "data di ricovero, data ricovero, data dimissione, data di dimissione, data decesso, opnamedatum, ontslagdatum, overlijdensdatum, tijdstip, "
        "=begda, =endda, =rfstdtc, =rfendtc, =dmdtc, =dthdtc, =rficdtc, =aestdtc, =aeendtc, =svstdtc, =lbdtc, =vsdtc, =exstdtc, =cmstdtc, =mhstdtc, =visitdt",
        "C",
    ),
    _quasi_identifier_concept(
        "part of a date",
        "people who were there, or read of it, know it",
        "day, month, week, weekday, day of week, =dow, quarter, =time, time of day, time of, hour, hour of, minute, birth month, month of birth, mob, death mon, death day, deathmon, deathday, "
        "=tag, wochentag, monat, woche, quartal, uhrzeit, geburtsmonat, mois, jour, semaine, trimestre, heure, =mes, mes nacimiento, mes de nacimiento, día, semana, =hora, "
        "miesiąc, =dzień, dzień tygodnia, tydzień, godzina, =mese, giorno, settimana, maand, dag, =uur",
        "C",
    ),
    _quasi_identifier_concept(
        "year",
        "people who were there, or read of it, know it",
        "=year, =yr, survey year, event year, =jahr, =année, =ano, =año, =anno, =rok, =jaar, jaar",
        "C",
    ),
    _quasi_identifier_concept(
        "length of time",
        "people who were there know it",
        "length of stay, duration, =los, verweildauer, dauer, durée, durée de séjour, duración, estancia, czas pobytu, durata, degenza, verblijfsduur, duur",
    ),
)
