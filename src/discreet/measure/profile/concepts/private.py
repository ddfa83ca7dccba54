"""Concepts that outsiders must not learn of a person: GDPR articles 9 and 10, money, judgments."""

from __future__ import annotations

from discreet.measure.profile.concepts.concept import Concept
from discreet.policy.model import ColumnRole

SPECIAL = "a special category of personal data (GDPR art. 9)"
_MONEY = "people keep what they earn and owe to themselves"


def _sensitive_concept(
    name: str, reason: str, phrases: str, *, values: str = "", is_code: bool = False
) -> Concept:
    return Concept(name, ColumnRole.SENSITIVE, reason, phrases, values=values, is_code=is_code)


PRIVATE = (
    _sensitive_concept(
        "race or ethnicity",
        f"{SPECIAL}; take it as a quasi-identifier instead where outsiders can see it",
        "race, racial, ethnicity, ethnic, ethnic group, ethnic origin, ethnic background, ethn, hispanic, latino, hispan, tribe, tribal, caste, skin color, skin colour, ancestry, indigenous, aboriginal, "
        "native american, immigrant background, migration background, racdes, "
        "ethnie, ethnische, ethnische herkunft, ethnizität, herkunft, volksgruppe, migrationshintergrund, hautfarbe, origine ethnique, appartenance ethnique, couleur de peau, "
        "raza, etnia, origen étnico, grupo étnico, etnicidad, indígena, pochodzenie etniczne, pochodzenie, rasa, grupa etniczna, "
        "razza, origine etnica, gruppo etnico, etniciteit, etnische, etnische achtergrond, migratieachtergrond, raca, cor raca, =racen",
        is_code=True,
        values="asian*, hispanic*, latino*, latina*, latinx, african american, african-american, afro*, caucasian*, native american, american indian, amer-indian*, alaska native, "
        "pacific islander, native hawaiian, biracial, multiracial, mestizo, mulatto, aboriginal, māori, maori, roma, sinti, arab, arabic, kurdish, romani, inuit, bangladeshi, "
        "pakistani, white british, black british, black african, black caribbean, mixed race, european american, han, zulu, xhosa, yoruba, hausa, igbo, kikuyu, blanc*, "
        "gitano, indígena, asiatisch, afrikanisch, kaukasisch, europid, asiatique, maghrébin*, blanco, asiático, afrodescendiente, "
        "asiatico, africano, biała, azjatycka, kaukaska | white, black, mixed, african, indian, chinese, european, caribbean, weiß, schwarz, noir, negro, nero, bianco, pardo, preto",
    ),
    _sensitive_concept(
        "health",
        SPECIAL,
        "diagnosis, diagnoses, diagnosis code, diag, =dx, dx code, dx1, primary dx, cpt, hcpcs, loinc, ndc, drg, msdrg, apr drg, snomed, wbc, platelet, hemoglobin, haemoglobin, hba1c, creatinine, egfr, albumin, sodium, potassium, bilirubin, pain score, apgar, "
        "disease, illness, condition, condition concept, icd, icd9, icd10, icd code, symptom, disorder, comorbidity, charlson, "
        "disability, disabled, impairment, medication, drug, drug concept, dose, dosage, prescription, =rx, atc, atc code, treatment, therapy, procedure, surgery, operation code, hiv, aids, cancer, tumor, tumour, stage, histology, "
        "diabetes, hypertension, asthma, stroke, dementia, obesity, overweight, depression, anxiety, phq9, gad7, mental health, psychiatric, suicide, allergy, allergies, blood type, blood group, blood pressure, systolic, diastolic, heart rate, pulse, cholesterol, glucose, insulin, "
        "lab result, lab value, test result, measurement concept, value as number, biomarker, biopsy, pregnant, pregnancy, gravida, parity, gestation, birth weight, abortion, vaccination, vaccine, immunization, injury, injured, smoker, smoking, tobacco, cigarettes, alcohol, alcohol consumption, drinking, substance use, cannabis, "
        "health, health status, self rated health, medical condition, medical history, family history, cause of death, death cause, cause concept, mortality, vital status, deceased, dead, death, died, died of, severity, adverse event, sick leave, sick days, absence reason, survival, prognosis, fever, covid, covid result, pcr, ct value, viral load, cd4, cd8, antiretroviral, antibody, antigen, treatment arm, randomized arm, trial arm, treatment group, therapy group, prior therapy, karnofsky, ecog, relapse, remission, recurrence, progression, metastasis, censored, survival time, time to event, days to death, hemophilia, drug use, intravenous drug, drug history, symptomatic, seropositive, specimen, swab, ward transfer, icu, intubated, ventilated, hospitalized, hospitalised, hospitalization, ed visit, readmission, payor group, clinic type, happiness, life satisfaction, wellbeing, loneliness, stress, sleep, therapy response, dosing, "
        "diagnose, diagnosen, hauptdiagnose, nebendiagnose, krankheit, vorerkrankung, erkrankung, beschwerden, symptome, medikament, medikation, arzneimittel, wirkstoff, dosierung, "
        "behandlung, therapie, eingriff, operation, ops, ops kode, ops code, befund, laborwert, blutdruck, behinderung, behinderungsgrad, grad der behinderung, gdb, schwerbehindert, schwerbehinderung, blutgruppe, schwangerschaft, schwanger, krankschreibung, krankenstand, pflegegrad, pflegestufe, raucher, impfung, impfstatus, "
        "todesursache, verstorben, gesundheit, gesundheitszustand, allergien, beatmungsstunden, aufnahmegrund, entlassungsgrund, aufnahmegewicht, "
        "maladie, pathologie, médicament, traitement, posologie, antécédents, acte ccam, ccam, cim10, cim 10, code cim, ghm, ghs, "
        "handicap, invalidité, grossesse, enceinte, diagnostic, diagnostic principal, symptômes, état de santé, santé, allergie, fumeur, tabac, vaccin, arrêt maladie, cause de décès, décès, ald, groupe sanguin, tension artérielle, "
        "diagnóstico, enfermedad, patología, síntoma, medicamento, fármaco, tratamiento, discapacidad, grado de discapacidad, minusvalía, alergia, antecedentes médicos, presión arterial, grupo sanguíneo, fumador, salud, estado de salud, baja médica, causa de muerte, "
        "embarazo, embarazada, vacuna, rozpoznanie, choroba, choroby, schorzenie, objawy, lek, leki, leczenie, zabieg, operacja, niepełnosprawność, stopień niepełnosprawności, ciąża, alergie, "
        "grupa krwi, ciśnienie, stan zdrowia, zdrowie, szczepienie, zwolnienie lekarskie, przyczyna zgonu, palenie, "
        "ziekte, aandoening, klacht, klachten, medicatie, geneesmiddel, behandeling, zwanger, zwangerschap, handicap, arbeidsongeschikt, ziekteverzuim, gezondheid, bloedgroep, bloeddruk, roken, overlijden, "
        "diagnosi, malattia, patologia, sintomo, sintomi, farmaco, trattamento, allergia, allergie, invalidità, disabilità, salute, stato di salute, gruppo sanguigno, pressione arteriosa, fumatore, vaccino, causa di morte, decesso, "
        "terapia, gravidanza, doenca, tratamento, deficiencia, gravidez, "
        "=aeterm, =aedecod, =aesev, =aeser, =cmtrt, =cmdecod, =cmindc, =mhterm, =mhdecod, =lbtest, =lbtestcd, =lborres, =lbstresn, =vstest, =vstestcd, =vsorres, =vsstresn, =extrt, =exdose, =armcd, =arm, =actarm, =dthfl, =dp, =dr, =das, =das1, =sbgru, =schwb",
        values="diabet*, hypert*, asthm*, pneumon*, bronchi*, influenza, grippe, gripe, influenz*, *itis, *ämie, *emia, *aemia, *pathy, *pathie, *patía, *patia, *osis, *ose, *oma, *karzinom, *carcinoma, carcin*, karzin*, krebs, cancer*, cáncer, "
        "tumor*, tumeur, tumore, rak, leukäm*, leukem*, leucém*, melanom*, depress*, dépress*, depresi*, depresj*, astm*, anxiety, angststörung, schizo*, bipolar*, psycho*, psicosis, dement*, démence, alzheimer*, parkinson*, "
        "epilep*, épilep*, migrän*, migraine, migraña, stroke, schlaganfall, avc, ictus, udar, herzinfarkt, infarct*, infarto*, zawał, myocard*, myokard*, angina, cardi*, kardio*, arrhythm*, hiv*, aids, hepat*, tuberculosis, tuberkulose, covid*, "
        "sepsis, fractur*, fraktur*, złamanie, fracture, anemia, anaemia, anämie, anémie, allerg*, obesity, adipositas, obésité, obesidad, otyłość, copd, bpoc, epoc, insuffic*, insuffiz*, niewydolność, cukrzyca, nadciśnienie, gout, ulcer*, ulkus, "
        "syphilis, gonorrh*, chlamydia, malaria, measles, cholera, "
        "aspirin*, ibuprofen*, paracetamol*, acetaminophen, metformin*, insulin*, warfarin*, heparin*, *statin, *statine, *pril, *olol, *sartan, *cillin, *cilline, *cilina, *mycin, *prazole, *prazol, *azole, *oxetine, *oxetin, *zepam, *gliptin, *mab, *nib, *floxacin, levothyroxin*, morphin*, tramadol, diclofenac, cortison*, prednison* "
        "| flu, cold, pain, injury, healthy, cough, fever, infection, infektion, grypa",
    ),
    _sensitive_concept(
        "genetics",
        SPECIAL,
        "genetic, genetics, genetic test, genotype, genome, genomic, dna, dna sequence, snp, rs id, allele, haplotype, karyotype, mutation, gene variant, variant allele, brca, brca1, brca2, apoe, genotyp, genetisch, gentest, erbgut, "
        "génétique, génotype, test génétique, genética, genotipo, genetyczny, genotyp, badanie genetyczne, genetica, test genetico, erfelijk",
    ),
    _sensitive_concept(
        "religion or belief",
        SPECIAL,
        "religion, religious, religious affiliation, relig, religiosity, =attend, reliten, godmeans, belonging to religion, religious services, attendance of religious services, church attendance, pray, prayer, praying, born again, worship, spiritual, mosque, synagogue, bible, denomination, church, faith, belief, philosophical belief, konfession, glaube, glaubensrichtung, kirche, kirchensteuer, kirchensteuermerkmal, "
        "croyance, confession, culte, religión, confesión religiosa, creencia, wyznanie, religia, wiara, przynależność religijna, "
        "religione, fede, credo, confessione religiosa, religiao, geloof, geloofsovertuiging, godsdienst, religie, kerk, =konfe",
        is_code=True,
        values="catholic*, roman catholic, protestant*, lutheran*, evangelical, muslim*, moslem*, islam*, jewish, judaism, jew, hindu*, buddhis*, sikh*, orthodox*, mormon*, atheis*, agnosti*, "
        "methodist*, baptist*, presbyterian*, anglican*, episcopal*, christian*, jehova*, sunni, shia, katholisch, römisch-katholisch, evangelisch, muslimisch, jüdisch, konfessionslos, "
        "catholique, musulman*, juif, juive, bouddhis*, athée, católic*, judí*, ateo, atea, agnóstic*, evangélic*, budista, katolik*, katolic*, rzymskokatolic*, prawosław*, muzułma*, ateist*, żydow*, "
        "cattolic*, musulman*, ebre*, ebraic*, ortodoss*, katholiek, protestants, joods, hindoe*, boeddhis* | none, no religion, rk, ev, ak, rel",
    ),
    _sensitive_concept(
        "politics",
        SPECIAL,
        "political, politics, political party, candidate, president vote, presidential vote, presvote, turnout, voter registration, registered voter, partisan, partisanship, government approval, approve of, trust in parliament, trust in politicians, satisfaction with government, left right scale, left right placement, liberal conservative, political interest, interest in politics, demonstration, protest, petition, abortion attitude, gun control, immigration attitude, political opinion, political view, political views, party id, partyid, polviews, =pres, presvote, party affiliation, party membership, party vote, =party, vote, vote intention, voted for, vote choice, voting, ballot, ideology, left right, "
        "partei, parteimitglied, parteizugehörigkeit, parteipräferenz, wahlabsicht, wahlentscheidung, sonntagsfrage, politische, politische einstellung, "
        "politik, parti politique, politique, opinion politique, orientation politique, intention de vote, partido, partido político, ideología, opinión política, voto, intención de voto, recuerdo de voto, "
        "partia, partia polityczna, poglądy polityczne, preferencje polityczne, głosowanie, partij, partijvoorkeur, stemgedrag, politiek, politieke voorkeur, partito, partito politico, politica, orientamento politico, intenzione di voto",
        is_code=True,
        values="democrat*, republican*, libertarian*, labour, labour party, conservatives, tory, lib dem, liberal democrat*, ukip, snp, cdu, cdu/csu, csu, spd, fdp, die grünen, bündnis 90*, afd, die linke, "
        "parti socialiste, rassemblement national, front national, les républicains, la france insoumise, lfi, renaissance, psoe, podemos, vox, ciudadanos, "
        "platforma obywatelska, prawo i sprawiedliwość, pis, konfederacja, lewica, vvd, pvda, pvv, d66, groenlinks, cda, forza italia, lega, fratelli d italia, movimento 5 stelle, partito democratico "
        "| independent, green, greens, grüne, left, right, pp, pd, po, rn, ps, lr, liberal, conservative, moderate",
    ),
    _sensitive_concept(
        "union membership",
        SPECIAL,
        "union, trade union, union status, unionized, labor union, labour union, union member, union membership, union dues, works council, gewerkschaft, gewerkschaftsmitglied, betriebsrat, syndicat, syndiqué, adhésion syndicale, sindicato, afiliación sindical, "
        "związek zawodowy, związki zawodowe, członek związku, vakbond, vakbondslid, sindacato, iscrizione sindacale",
        is_code=True,
    ),
    _sensitive_concept(
        "sexual life",
        SPECIAL,
        "sexual orientation, sexual preference, homosexual, homosexuality, bisexual, gay, lesbian, same sex, sexuality, sex life, sexual behavior, sexual behaviour, sexual activity, sexual partners, sex partners, number of sexual partners, lgbt, lgbtq, sexuelle orientierung, sexualität, sexualleben, orientation "
        "sexuelle, vie sexuelle, orientación sexual, vida sexual, orientacja seksualna, życie seksualne, seksuele geaardheid, seksuele voorkeur, orientamento sessuale, vita sessuale, orientacao sexual, "
        "std, sti, gender identity, transgender, condom, contraception, contraceptive, verhütung, antykoncepcja, "
        # The sex of a partner says whom a person lives with (CJEU C-184/20).
        "partner sex, partner gender, spouse sex, spouse gender, sex of partner, sex of spouse, gender of partner, gender of spouse, sex partner, sex spouse, geschlecht partner, geschlecht des partners, partnergeschlecht, geschlecht ehepartner, "
        "sexe conjoint, sexe du conjoint, sexe partenaire, sexo pareja, sexo de la pareja, sexo conyuge, sexo del conyuge, sexo conjuge, płeć partnera, płeć małżonka, geslacht partner, sesso partner, sesso coniuge",
        is_code=True,
        values="heterosexual*, homosexual*, bisexual*, gay, lesbian, asexual, pansexual, queer, transgender, heterosexuell, homosexuell, bisexuell, schwul, lesbisch, hétérosexuel*, homosexuel*, bisexuel*, "
        "lesbienne, heteroseksual*, homoseksual*, biseksual*, heteroseksueel, homoseksueel, biseksueel, eterosessual*, omosessual*, bisessual*, lesbiana | straight, hetero, homo",
    ),
    _sensitive_concept(
        "crime",
        "criminal convictions and offences (GDPR art. 10)",
        "crime, criminal, criminal record, criminal history, priors, prior offenses, prior arrests, prior convictions, juvenile, juvenile record, misdemeanor, misdemeanour, charge degree, charge desc, charge description, criminal charge, custody, detention, detained, bail, bond amount, court case, plea, verdict, defendant, offender, risk of recidivism, violent, violence, weapon, citation, stop reason, searched, person search, vehicle search, use of force, victim, conviction, convictions, offence, offense, felony, arrest, arrests, arrested, prison, jail, sentence, sentencing, probation, parole, incarcerated, police record, "
        "recidivism, recid, recidivist, straftat, delikt, vorstrafe, vorstrafen, vorbestraft, verurteilung, haft, haftstrafe, führungszeugnis, infraction, délit, condamnation, casier judiciaire, peine, "
        "delito, condena, antecedentes penales, antecedentes, karalność, przestępstwo, wyrok, kara, misdrijf, strafblad, veroordeling, delict, reato, condanna, precedenti penali, casellario, crimen, crime cometido",
        is_code=True,
        values="felony, misdemeanor, misdemeanour, theft, burglary, assault*, battery, robbery, homicide, murder, manslaughter, fraud, larceny, dui, drug possession, arson, kidnapping, rape, embezzlement, forgery, "
        "diebstahl, betrug, körperverletzung, raub, mord, totschlag, nötigung, vergewaltigung, agression, escroquerie, meurtre, robo, hurto, homicidio, estafa, agresión, kradzież, rozbój, zabójstwo, furto, rapina, omicidio, truffa, diefstal, inbraak, mishandeling",
    ),
    _sensitive_concept(
        "income",
        _MONEY,
        "salary, income, inc, taxable income, gross income, net income, adjusted gross income, agi, interest income, dividends, dividend, royalties, self employment income, retirement income, social security income, employer contribution, household income, family income, income group, income decile, income bracket, faminc, hhincome, hhinc, incwage, inctot, wage, wages, pay, pay grade, payroll, paycheck, earnings, bonus, compensation, commission, pension, net worth, wealth, assets, savings, savings account, poverty, turnover, profit, "
        "capital gain, capital loss, salary class, gehalt, gehaltsgruppe, tarifgruppe, einkommen, haushaltseinkommen, nettoeinkommen, bruttoeinkommen, lohn, lohngruppe, verdienst, vermögen, ersparnisse, rente, umsatz, "
        "salaire, revenu, revenus, rémunération, patrimoine, épargne, salario, sueldo, ingreso, ingresos, renta, nómina, patrimonio, ahorros, "
        "wynagrodzenie, pensja, zarobki, dochód, dochody, płaca, emerytura, majątek, oszczędności, salaris, inkomen, loon, vermogen, spaargeld, "
        "stipendio, reddito, retribuzione, patrimonio, risparmi, rendimento, vencimento, ordenado, renda, =betrg, =trfgr",
    ),
    _sensitive_concept(
        "debts and payments",
        _MONEY,
        "debt, debts, loan, loan amount, credit, credit score, credit rating, credit limit, fico, balance, bal, mortgage, overdue, default, bankruptcy, "
        "arrears, payment, pay amt, bill, bill amt, bill amount, amount, expenditure, expend, expenditures, spending, donation, charge, charges, expense, expenses, price paid, purchase amount, revenue, tax, tax paid, taxes, federal tax, state tax, income tax, tax liability, tax credit, withholding, fica, rent, rent paid, interest paid, installment, instalment, credit history, credit amount, credit purpose, loan purpose, loan status, checking account, current account, overdraft, debtor, guarantor, collateral, property value, house value, equity, deposit, transaction amount, gift, gift amount, donated, "
        "cost, costs, insurance, insurance type, health insurance, payer, benefit, benefits, welfare, food stamps, unemployment benefit, allowance, subsidy, investment, "
        "versicherung, versicherungsart, krankenkasse, krankenversicherung, schulden, kredit, kreditwürdigkeit, bonität, schufa, kontostand, saldo, "
        "zahlung, betrag, rechnungsbetrag, kosten, ausgaben, miete, sozialhilfe, bürgergeld, arbeitslosengeld, wohngeld, kindergeld, "
        "assurance, mutuelle, dette, dettes, prêt, crédit, montant, solde, loyer, dépenses, allocation, aide sociale, "
        "seguro, seguro médico, deuda, préstamo, crédito, hipoteca, importe, monto, saldo cuenta, gastos, alquiler, prestación, subsidio, "
        "dług, zadłużenie, kredyt, pożyczka, kwota, wydatki, czynsz, zasiłek, ubezpieczenie, składka, "
        "schuld, schulden, lening, hypotheek, bedrag, uitgaven, huur, uitkering, toeslag, verzekering, "
        "debito, debiti, prestito, mutuo, importo, spese, affitto, sussidio, assicurazione, divida, emprestimo, valor",
    ),
    _sensitive_concept(
        "grades and ratings",
        "a judgment of the person",
        "grade, grades, gpa, exam score, exam result, test score, math score, reading score, performance rating, performance review, performance score, evaluation, "
        "appraisal, iq, iq score, disciplinary action, warning letter, termination reason, note schule, zensur, schulnote, notendurchschnitt, abschlussnote, bewertung, leistungsbeurteilung, beurteilung, abmahnung, kündigungsgrund, "
        "=note, note examen, évaluation, calificación, calificaciones, evaluación, ocena, oceny, wynik egzaminu, ocena pracownicza, "
        "cijfer, beoordeling, voto esame, voti, valutazione, nota, notas, avaliacao, moyenne",
    ),
    _sensitive_concept(
        "outcome to predict",
        "an outcome worth predicting is worth learning about a person",
        "=target, =outcome, =label, =class, =y, =result, =zielvariable, =cible, =objetivo",
    ),
)

TECHNICAL = Concept(
    "technical field",
    ColumnRole.INSENSITIVE,
    "it describes the file or a unit of measure, not the person",
    "currency, unit of measure, measurement unit, =unit, =units, =version, file format, schema version, encoding, studyid, study id, =domain, =ageu, lastpage, =seed, "
    "währung, maßeinheit, devise, moneda, waluta, jednostka, valuta, =waers",
)
