"""Words and sentences from which `make_notes.py` writes its clinical notes.

Everything is invented. `KNOWN` names are common ones, most of them in the lists that the finder
ships; `RARE` names are in none of those lists, as a test makes sure. `SENTENCES` were read while the
finder was written; of the `FRESH` ones no single miss was read, but totals over them were. Names, values
and `PLAIN` sentences are shared by both, so that neither is a blind test.

In a sentence, `{A:patient}` is an identifier of class A made by the maker `patient`; `{:dose}` is a
filler that must stay.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


KNOWN_GIVEN = _words(
    """
Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Nancy Lisa Betty Margaret Sandra Ashley Kimberly
Emily Donna Michelle Carol Amanda Dorothy Melissa Deborah James Robert John Michael David William Richard Joseph Thomas
Charles Christopher Daniel Matthew Anthony Steven Paul Andrew Joshua Kenneth Kevin Brian George Timothy Ronald Edward Jason
Jose Maria Carlos Juan Luis Fatima Mohammed Priya Wei Olga Ivan Hans Ingrid Giulia Pierre Chloe Sofia Mateo Aisha Rose Grace
Hope Will Mark Grant Hunter May April June Dawn
"""
)
KNOWN_FAMILY = _words(
    """
Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas
Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King
Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Patel Kim Chen
Schmidt Rossi Dubois Kowalski Ivanov Yamamoto O'Brien McCarthy Smith-Jones Parkinson Cushing Bell Long Park Cook
"""
)
RARE_GIVEN = _words(
    """
Zofija Thandiwe Wiebrecht Oyinkansola Thorgerd Ixtlali Aneurin Iphigenia Ngaire Tamsyn Caoilfhionn Rhiannedd Sinethemba
Yevpraksia Ermintrude Zebulon Thorvald Quillon Zdzimir Tirzah Gwladus Wulfric Hyacinthe Theodolinde Tancrède Gwenllian Malgosza
Malgorzatka Ragnfrid Zephyrine Tebogo Kgomotso Rangimarie Eadgyth Ysolde Nontobeko Yevgenka Nkiruka Tsvetana Ingvill
"""
)
RARE_FAMILY = _words(
    """
Brzezicki Oyelaran Featherstonehaugh Abernathie Quackenboss Zwingmann Mkhabela Thistlewood Vanterpool Ødegaard Szczepanczyk
Hrafnsdóttir Ogunbanwo Pellworm Wrzesniewski Cholmondeley Tshabalala Vuillermoz Drinkwater-Hale Ngcobo Blackadder Oestergaard
Kalinauskas Papageorgiou Llewelyn-Bowen Strzelecki Mukherji-Roy Ravensdale Ekwueme Trzaskowski Birtwistle Quennell
Nakashidze Gvozdenovic Hollingberry Pfaffenbach Tuiasosopo Wojciechowicz Entwhistle Uwimana
"""
)
TOWNS_KNOWN = _words(
    "Boston Chicago Denver Seattle Baltimore Omaha Tucson Pittsburgh Cleveland Minneapolis"
)
TOWNS_RARE = (
    "Cedar Hollow", "Ossipee Falls", "Marblethorpe", "Wexcombe", "Tallow Creek", "Brackenridge Heights", "Quinsigam",
    "Nettlefield", "Port Almsbury", "Harrowgate Mills", "Sandusquah", "Kettleby",
)  # fmt: skip
STATES = _words("MA NY CA TX FL OH IL WA NC GA")
STREETS = _words(
    "Maple Oak Washington Elm Lakeview Thornbury Sycamore Old_Mill Birchwood King_George Prospect Wendover"
)
SUFFIXES = _words("Street St Avenue Ave Road Rd Lane Drive Blvd Court Terrace Way")
HOSPITALS = (
    "St. Aldhelm's Hospital", "Wexcombe General Hospital", "Mercy Regional Medical Center", "Ossipee Falls Clinic",
    "Marblethorpe Nursing Home", "Brookhaven Rehabilitation Center",
)  # fmt: skip
DOMAINS = ("example.org", "example.com", "mail.example.net", "clinic.example.edu")
MONTHS = _words(
    "January February March April May June July August September October November December"
)
WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
DRUGS = (
    "metoprolol 25 mg", "lisinopril 10 mg", "Xarelto 20 mg", "Lantus 18 units", "metformin 500 mg", "Tylenol 650 mg",
    "atorvastatin 40 mg", "Eliquis 5 mg", "prednisone 10 mg", "penicillin 2400000 units", "Synthroid 75 mcg",
)  # fmt: skip
ILLS = (
    "Parkinson's disease", "Hodgkin lymphoma", "Bell's palsy", "Down syndrome", "Cushing syndrome", "Graves disease",
    "Crohn's disease", "type 2 diabetes", "hypertension", "Alzheimer's dementia", "Barrett's esophagus", "COPD",
    "atrial fibrillation", "Hashimoto thyroiditis", "Raynaud phenomenon", "Guillain-Barré syndrome", "asthma",
)  # fmt: skip

# No identifier in these: whatever is found here is wrong.
PLAIN = (
    "BP 120/80, HR 72, RR 16, T 98.6, SpO2 97% on room air.",
    "BP 118/76 and pulse 64, weight 82.5 kg, BMI 27.1.",
    "Pain is rated 3/10 at rest and 7/10 with movement.",
    "Strength is 5/5 in all extremities, reflexes 2+ and symmetric.",
    "A 2/6 systolic murmur is heard at the left sternal border.",
    "Takes {:drug} twice daily and {:drug} at bedtime.",
    "Past medical history: {:ill}, {:ill}.",
    "Family history is notable for {:ill} and {:ill}.",
    "Labs: Na 138, K 4.1, Cl 102, CO2 24, BUN 18, Cr 1.02, glucose 104.",
    "WBC 7.4, Hgb 13.2, Hct 39.8, platelets 250000.",
    "Hemoglobin A1c 7.2 %, LDL 101, HDL 44, TSH 2.31.",
    "The patient may resume a regular diet and will walk daily.",
    "Will follow up with cardiology in 2 weeks.",
    "May shower tomorrow. Mark the wound edges before discharge.",
    "Foley catheter removed; Babinski negative bilaterally; Romberg normal.",
    "CT of the chest shows a 1.2 x 0.8 cm nodule in the right upper lobe.",
    "ECG: sinus rhythm, PR 160, QRS 92, QTc 430.",
    "The infusion pump runs software version 4.2.1.10.",
    "Ratio of 1:200 was used, titer 1:64, dilution 1/2.",
    "She smoked 1/2 pack per day until 2009 and quit in 2011.",
    "Surgical history: appendectomy in 1998, cholecystectomy 2012.",
    "A 67-year-old man with chest pain for 3 days, worse on exertion.",
    "Code E11.9 and CPT 99213 were assigned.",
    "Review of Systems: Denies fever, chills, nausea, vomiting.",
    "Physical Exam: Well developed, in no acute distress.",
    "Assessment and Plan: Continue current medications.",
    "Discussed with Physical Therapy and Social Work.",
    "Transferred from the Emergency Department to the Intensive Care Unit.",
    "Seen at 10:45 AM, discharged at 16:30:00 the same day.",
    "Glasgow Coma Scale 15, Apgar 8 and 9 at 1 and 5 minutes.",
    "Visual acuity 20/20 right, 20/40 left.",
    "Take 1-2 tablets every 4-6 hours as needed, not more than 8 in 24 hours.",
    "He was White, English speaking, and worked as a Baker and later a Cook.",
    "Medicare covers the visit. Grant funding supports the study.",
    "The Wells score is 3; the Child-Pugh class is B.",
    "INR goal 2-3, last INR 2.4, warfarin 5 mg on even days.",
    "MRI brain 3 mm slices, T2/FLAIR hyperintensity, series 4 image 12.",
    "Hope is to return home with services; Grace period explained.",
    "Insulin 10-12-8 units with meals; sliding scale per protocol.",
    "Started Stelara in clinic and stopped Basaglar.",
    "Switched from Humulin to Tresiba; allergic to Bactrim and Keflex.",
    "Blood cultures grew Klebsiella; Legionella and Cryptosporidium antigens negative.",
    "The Zimmer Biomet implant was cemented; Holter monitor placed.",
    "Speaks Portuguese at home, attends Mass, watches Netflix.",
    "SNOMED 44054006 and LOINC 4548-4 were mapped.",
)

SENTENCES = (
    "Patient: {A:patient}",
    "Name: {A:last_first}   DOB: {C:date}   MRN: {H:record}",
    "{A:title_last} was seen today for {:ill}.",
    "{A:patient} is a {C:old_age}-year-old woman with {:ill}.",
    "{A:patient} is a 64 year old man who presents with {:ill}.",
    "Patient {A:patient} was admitted on {C:date} and discharged on {C:date}.",
    "Admitted {C:date} to {B:hospital}.",
    "The patient lives in {B:town} with her daughter {A:relative}.",
    "His wife, {A:relative}, called on {C:day}.",
    "Seen by {A:doctor} and {A:doctor}.",
    "{A:last}'s daughter was at the bedside.",
    "{A:given} reports feeling better since {C:month_year}.",
    "Spoke with {A:relative} at {D:phone}.",
    "Phone: {D:phone}  Fax: {E:fax}",
    "Please fax results to {E:fax}.",
    "Call {D:phone} with questions, or page {A:doctor}.",
    "Email {F:email} to reschedule.",
    "SSN: {G:ssn}",
    "Social security number {G:ssn_plain} was verified.",
    "MRN {H:record} was merged with medical record number {H:record}.",
    "Member ID: {I:plan}, group number {I:group}.",
    "Medicare beneficiary {I:medicare}.",
    "Account number {J:account} is past due.",
    "Paid by card {J:card}.",
    "License number {K:license}; DEA {K:dea}; NPI {K:npi}.",
    "Vehicle VIN {L:vin}, license plate {L:plate}.",
    "Pacemaker serial number {M:serial} interrogated.",
    "Device ID {M:serial}, MAC address {M:mac}.",
    "Portal: {N:url}",
    "Logged in from {O:ip4} and {O:ip6}.",
    "Photo attached: {Q:photo}.",
    "Fingerprint template {P:biometric} stored.",
    "Accession {R:accession}, order number {R:order}.",
    "Address: {B:street}, {B:town}, {:state} {B:zip}",
    "She lives at {B:street} in {B:town}.",
    "Mail goes to {B:box}, {B:town}, {:state} {B:zip}.",
    "Originally from {B:town}, moved to {B:town} in 2004.",
    "Follow up with {A:doctor} on {C:date}.",
    "Next appointment is {C:weekday_date} at 9:30.",
    "Symptoms began in {C:month} and worsened on {C:day}.",
    "Dear {A:doctor},",
    "Emergency contact: {A:relative}, {D:phone}.",
    "cc: {A:doctor}",
    "Dictated by {A:doctor_credential} on {C:date}.",
    "{A:last} denies chest pain. {A:given} agrees with the plan.",
    "Discussed with the patient's son {A:relative} and with {A:doctor}.",
    "Age {C:old_age}, lives alone in {B:town}.",
    "Referred by {A:doctor} of {B:hospital}.",
    "Pt {A:patient} (MRN# {H:record}) arrived by ambulance from {B:hospital}.",
    "RE: {A:patient}, DOB {C:date}",
    "Thank you for referring {A:title_last}, whom I met on {C:date}.",
    "I had the pleasure of seeing {A:patient} in clinic on {C:date}.",
    "Her husband {A:relative} can be reached on {D:phone} after 5 pm.",
    "Mother's name is {A:relative}; cell {D:phone}.",
    "{A:patient} was born on {C:date} in {B:town}.",
    "A {C:old_age} y/o female, {A:title_last}, fell at home on {C:date}.",
    "Attending physician: {A:doctor_bare}",
    "Electronically signed by {A:doctor_credential}, {C:date} 14:05",
    "Social worker {A:relative} will arrange transport to {B:town}.",
    "Last colonoscopy {C:month_year}, next due {C:month_year}.",
    "Return on {C:weekday_date} or call {D:phone}.",
    "Insurance policy number {I:plan}; subscriber ID {I:plan}.",
    "Bank account {J:account} on file, IBAN {J:iban}.",
    "Nursing license {K:license} expires soon.",
    "The car, plate number {L:plate}, was towed; VIN: {L:vin}.",
    "Insulin pump S/N {M:serial} replaced; IMEI {M:imei}.",
    "Results at {N:url} for review.",
    "Remote session from IP {O:ip4}.",
    "See image {Q:photo} in the chart.",
    "Retinal scan ID {P:biometric} matched.",
    "Specimen number {R:accession} sent; case {R:order}.",
    "Records were faxed to {E:fax} and mailed to {B:street}, {B:town}, {:state} {B:zip}.",
    "Contact via {F:email} or fax number {E:fax}.",
    "Social Security No. {G:ssn} and passport {R:passport} were copied.",
    "He works in {B:town} and commutes from {B:town}.",
    "Home address is {B:street}, ZIP code {B:zip}.",
    "Discharged home on {C:date} with daughter, {A:relative}.",
    "{A:doctor} recommends surgery before {C:date}.",
    "Spouse: {A:relative}    Tel: {D:phone}",
    "Neighbor {A:relative} brought {A:given} to the hospital on {C:day}.",
    "Per {A:doctor}, {A:last} is stable for discharge.",
    "The patient's brother {A:relative} died in {C:month_year}.",
    "-- {A:doctor_credential}",
    "PATIENT NAME: {A:patient}  DATE OF BIRTH: {C:date}  HOSPITAL NO: {H:record}",
    "This is a {C:old_age}-year-old gentleman, {A:title_last}, known to our service.",
    "{A:title_last} returned on {C:date} complaining of cough.",
    "We saw {A:patient} again on {C:day} in the outpatient clinic.",
    "Consultation requested by {A:doctor} for {:ill}.",
    "Surgeon: {A:doctor_bare}. Assistant: {A:doctor_bare}.",
    "Her sister {A:relative} and nephew {A:relative} visited on {C:weekday_date}.",
    "{A:given} lives with her partner {A:relative} near {B:town}.",
    "He grew up in {B:town} and now resides at {B:street}.",
    "Guardian {A:relative} gave consent by telephone ({D:phone}).",
    "Best number to reach the family: {D:phone}.",
    "Office tel. {D:phone}, office fax {E:fax}.",
    "Send the report by fax to {E:fax} and by mail to {B:box}.",
    "Her e-mail is {F:email}.",
    "Patient's SSN is {G:ssn}.",
    "Chart number {H:record} was requested.",
    "Health plan ID {I:plan} was declined; Medicaid number {I:plan} is active.",
    "The bill for account # {J:account} was sent on {C:date}.",
    "Charged to credit card {J:card}.",
    "Driver's license {K:license} was shown at registration.",
    "Certificate number {K:license} on file.",
    "Truck with license plate {L:plate} struck the patient on {C:date}.",
    "Implant serial no. {M:serial} was recorded on {C:date}.",
    "Pump model 530G, serial {M:serial}.",
    "The report is available at {N:url}.",
    "Access from address {O:ip4} was logged.",
    "Clinical photograph saved as {Q:photo}.",
    "Voiceprint ID {P:biometric} enrolled.",
    "Order # {R:order} and accession number {R:accession} were linked.",
    "Employee badge {R:order} belongs to nurse {A:relative}.",
    "The family drove from {B:town} to {B:hospital}.",
    "Residence: {B:street}, {B:town}, {:state} {B:zip}",
    "Symptoms started in early {C:month} and resolved by {C:date}.",
    "Mammogram in {C:month_year} was normal.",
    "Thank you, {A:doctor_credential}",
    "Reviewed and agreed: {A:doctor_credential}",
    "{A:last} tolerated the procedure well. {A:given}'s mother was updated.",
    "Daughter ({A:relative}) holds power of attorney.",
    "I spoke to {A:doctor} about {A:last} on {C:day}.",
    "Attn: {A:doctor_bare}, {B:hospital}",
)

# Written once; no single miss on these was read, only totals.
FRESH = (
    "Pt. name {A:last_first}; chart # {H:record}; birthdate {C:date}.",
    "Mr. and Mrs. {A:last} came to the appointment together.",
    "I reviewed the films with {A:doctor} this morning.",
    "According to {A:relative}, her aunt, the fall happened on {C:date}.",
    "{A:patient}, aged {C:old_age}, was found on the floor.",
    "We will ask {A:doctor} to see {A:title_last} before {C:weekday_date}.",
    "Nurse {A:relative} changed the dressing at 14:00.",
    "The patient's wife is named {A:relative}.",
    "Transcribed: {C:date}  Author: {A:doctor_bare}",
    "Signed, {A:doctor_credential}",
    "{A:given} continues to improve; her son {A:relative} helps at home.",
    "He was transferred from {B:hospital} on {C:day}.",
    "She owns a house in {B:town} and a shop at {B:street}.",
    "Currently staying with friends in {B:town}.",
    "Mailing address: {B:box}, {B:town}, {:state} {B:zip}",
    "Work phone {D:phone}; mobile {D:phone}.",
    "Pharmacy fax is {E:fax}.",
    "Reach the daughter at {D:phone} or {F:email}.",
    "SS# {G:ssn}",
    "Old MRN {H:record}, new MRN {H:record}.",
    "Insurance ID {I:plan}, policy {I:plan}.",
    "Acct no. {J:account}; card number {J:card}.",
    "State license no. {K:license}; NPI: {K:npi}.",
    "Registered vehicle {L:vin} (plate {L:plate}).",
    "ICD generator serial {M:serial} reached replacement time.",
    "Telehealth link {N:url} was sent on {C:date}.",
    "Login from {O:ip6} blocked.",
    "Wound image {Q:photo} uploaded {C:date}.",
    "Iris scan {P:biometric} on record.",
    "Prescription number {R:order}, reference {R:accession}.",
    "The biopsy of {C:date} was read by {A:doctor}.",
    "Since {C:month} {A:last} has lost weight.",
    "Diagnosed {C:month_year}; relapse noted {C:date}.",
    "Interpreter {A:relative} assisted.",
    "Copy to {A:doctor} and to {A:doctor_bare}.",
    "In summary, {A:given} is stable and {A:doctor} agrees.",
    "{A:last} 's labs of {C:day} were discussed with {A:relative}, the husband.",
)
