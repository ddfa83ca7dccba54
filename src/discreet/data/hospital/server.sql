-- Who may see what in the hospital: what `discreet demo --serve` runs, as its custodian, on the
-- first start. Every statement can be typed in psql; passwords are set beside it, not in it.

-- People, and the roles they act in. A right goes to a role, so that a person can come and go.
CREATE USER clerk, nurse, analyst, researcher;
CREATE ROLE wards, analysts;
GRANT wards TO nurse;
GRANT analysts TO analyst;

-- The clerk sends bills: some columns, and only of patients with private insurance.
-- In every other column of those patients, and about every other patient, there is nothing to see.
GRANT SELECT (patient_id, name, address, insurance) ON patients TO clerk;
ALTER TABLE patients ENABLE ROW LEVEL SECURITY;
CREATE POLICY bills ON patients FOR SELECT TO clerk USING (insurance = 'private');

-- The wards see visits of the ward that the nurse works in, and of a patient's number the end.
CREATE TABLE duties (nurse text PRIMARY KEY, ward text NOT NULL);
INSERT INTO duties VALUES ('nurse', 'oncology');
GRANT SELECT ON duties TO wards;
GRANT SELECT (visit_id, patient_id, admitted, ward, diagnosis) ON visits TO wards;
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_ward ON visits FOR SELECT TO wards
  USING (ward IN (SELECT duties.ward FROM duties WHERE duties.nurse = current_user));
CREATE MASK number_end ON visits (patient_id) TO wards USING ('…' || right(patient_id, 2));
GRANT SELECT ON diagnoses TO PUBLIC;

-- Analysts ask for aggregates. Each answer has noise that hides any one patient, and a price.
GRANT AGGREGATE ON patients TO analysts WITH BUDGET (EPSILON 2, DELTA 1e-6);
GRANT AGGREGATE ON visits TO analysts WITH BUDGET (EPSILON 2, DELTA 1e-6);

-- The researcher gets rows in which everyone looks like at least four others: a release of its
-- own, made once, attacked before it is shown.
CREATE ANONYMIZED VIEW patients_for_research WITH (k = 5) AS
  SELECT birth_date, sex, postcode, diagnosis FROM patients;
GRANT SELECT ON patients_for_research TO researcher;

-- Labels instead of grants: a user with a lower clearance sees less of the same table.
CREATE USER u, c, s;
SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S';
SECURITY LABEL FOR mls ON ROLE u IS 'U';
SECURITY LABEL FOR mls ON ROLE c IS 'C';
SECURITY LABEL FOR mls ON ROLE s IS 'S';
CREATE TABLE employee (name text PRIMARY KEY, salary integer, performance text);
SECURITY LABEL FOR mls ON TABLE employee IS 'cells';
GRANT SELECT, INSERT, UPDATE, DELETE ON employee TO u, c, s;

-- What each clearance says of the same people, written by a user who is cleared for all of it.
SECURITY LABEL FOR mls ON ROLE custodian IS 'S';
SET discreet.clearance = 'U';
INSERT INTO employee (name) VALUES ('Smith');
SET discreet.clearance = 'C';
UPDATE employee SET salary = 40000 WHERE name = 'Smith';
INSERT INTO employee (name, performance) VALUES ('Brown', 'Good');
SET discreet.clearance = 'S';
UPDATE employee SET performance = 'Fair' WHERE name = 'Smith';
UPDATE employee SET salary = 80000 WHERE name = 'Brown';
RESET discreet.clearance;
