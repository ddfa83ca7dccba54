"""Statements that PostgreSQL and discreet must answer alike, each as several roles."""

QUERIES = """
SELECT * FROM generate_series(1, 3)
SELECT g, g * 2 FROM generate_series(1, 7, 3) g
SELECT x FROM generate_series(3, 1, -1) AS g (x)
SELECT g.g FROM generate_series(1, 0) AS g
SELECT generate_series FROM generate_series(1, 2)
SELECT e.name, g FROM emp e, generate_series(1, e.id) g WHERE e.id < 4
SELECT e.name, g FROM emp e LEFT JOIN LATERAL generate_series(4, e.id) g ON true
SELECT * FROM generate_series('2020-01-01'::timestamp, '2020-01-03', '1 day')
SELECT d::date FROM generate_series('2020-01-31'::date, '2020-03-31'::date, interval '1 month') AS d
SELECT count(*) FROM generate_series(timestamp '2020-01-01', timestamp '2020-01-02', '1 hour') h
SELECT * FROM generate_series(1, 2, 0)
SELECT * FROM generate_series('a', 'b')
SELECT u FROM unnest(ARRAY[3, 1, NULL]) u
SELECT * FROM unnest(ARRAY[1, 2], '{a}'::text[]) AS t (x, y)
SELECT unnest FROM unnest('{a,b}'::text[])
SELECT e.name, u FROM emp e, unnest(ARRAY[e.dept, 'x']) AS u
SELECT e.name, u.p FROM emp e CROSS JOIN LATERAL unnest(string_to_array(e.name, 'n')) AS u (p)
SELECT name FROM emp WHERE id IN (SELECT unnest('{1,2}'::int[]))
SELECT unnest(ARRAY[id, 10]) FROM emp WHERE id < 3
SELECT id, generate_series(1, id) AS n FROM emp WHERE id < 4 ORDER BY 1, 2
SELECT id, unnest(ARRAY[1, 2]), unnest(ARRAY[7]) FROM emp WHERE id = 1
SELECT * FROM unnest('{a}')
SELECT * FROM unnest(name)
SELECT * FROM unnest(ARRAY[1]) AS t (a, b)
SELECT unnest(id) FROM emp
SELECT name FROM emp WHERE unnest(ARRAY[true])
SELECT * FROM lower('ABC')
SELECT l FROM upper('abc') AS l
SELECT x.y FROM abs(-3) AS x (y)
SELECT e.name, u FROM emp e, upper(e.name) u
SELECT * FROM count(*)
SELECT * FROM emp e, unnest(f.name) u
SELECT e.sal, u FROM emp e, unnest(ARRAY[e.sal]) u
SELECT e.name, u FROM emp e, unnest(ARRAY[e.sal]) u
SELECT e.name FROM emp e, generate_series(1, e.sal::int) u
SELECT * FROM emp
SELECT name FROM emp
SELECT name, sal FROM emp
SELECT count(*) FROM emp
SELECT count(*) FROM dep
SELECT 1 FROM emp
SELECT name FROM emp WHERE sal > 100
SELECT name FROM emp ORDER BY sal
SELECT name FROM emp ORDER BY dept, name DESC
SELECT name FROM emp GROUP BY name HAVING max(sal) > 10
SELECT dept, count(*) FROM emp GROUP BY dept
SELECT dept, count(*) AS n FROM emp GROUP BY 1 ORDER BY n DESC, 1
SELECT dept AS d FROM emp GROUP BY d
SELECT name FROM emp GROUP BY
SELECT name, rank() OVER (ORDER BY sal) FROM emp
SELECT name, rank() OVER (PARTITION BY dept ORDER BY name) FROM emp
SELECT sum(count(*)) OVER () FROM emp GROUP BY dept
SELECT e.* FROM emp e
SELECT e.name FROM emp AS e
SELECT emp.name FROM emp AS e
SELECT public.emp.name FROM public.emp
SELECT name FROM public.emp
SELECT name FROM nowhere.emp
SELECT name FROM nobody
SELECT nothing FROM emp
SELECT emp.nothing FROM emp
SELECT "NAME" FROM emp
SELECT NAME FROM EMP
SELECT e.dept, d.dept FROM emp e JOIN dep d ON e.dept = d.dept
SELECT dept FROM emp JOIN dep USING (dept)
SELECT * FROM emp JOIN dep USING (dept)
SELECT dept FROM emp NATURAL JOIN dep
SELECT name FROM emp NATURAL JOIN dep
SELECT dept FROM emp, dep
SELECT e.dept FROM emp e LEFT JOIN dep d ON e.sal = d.budget
SELECT dept FROM emp FULL JOIN dep USING (dept)
SELECT dept FROM emp RIGHT JOIN dep USING (dept)
SELECT dept FROM emp LEFT JOIN dep USING (dept) WHERE dept IS NULL
SELECT a.dept FROM dep a CROSS JOIN dep b
SELECT name FROM emp WHERE EXISTS (SELECT 1 FROM dep WHERE dep.dept = emp.dept)
SELECT name FROM emp WHERE EXISTS (SELECT 1 FROM dep WHERE dep.boss = emp.id)
SELECT name FROM emp WHERE dept IN (SELECT dept FROM dep)
SELECT name FROM emp WHERE dept NOT IN (SELECT dept FROM dep WHERE budget > 600)
SELECT name, (SELECT max(boss) FROM dep WHERE dep.dept = emp.dept) FROM emp
SELECT (SELECT sal FROM emp WHERE id = 1)
SELECT x.name FROM (SELECT name, sal FROM emp) x
SELECT x.name FROM (SELECT * FROM emp) AS x
SELECT y FROM (SELECT name FROM emp) AS x (y)
WITH emp AS (SELECT dept AS name FROM dep) SELECT name FROM emp
WITH x AS (SELECT name FROM emp) SELECT * FROM x
WITH x AS (SELECT sal FROM emp) SELECT 1
WITH x AS (SELECT name FROM emp), y AS (SELECT name FROM x) SELECT count(*) FROM y
WITH emp AS (SELECT name FROM emp) SELECT * FROM emp
SELECT name FROM emp UNION SELECT dept FROM dep
SELECT name FROM emp UNION ALL SELECT dept FROM dep ORDER BY name
SELECT name FROM emp EXCEPT SELECT name FROM emp WHERE sal > 100
SELECT name FROM emp INTERSECT SELECT name FROM emp
SELECT name FROM emp UNION SELECT id FROM emp
SELECT name FROM emp UNION SELECT name, dept FROM emp
SELECT name FROM emp e, LATERAL (SELECT dept FROM dep d WHERE d.dept = e.dept) l
SELECT name FROM emp e, (SELECT dept FROM dep d WHERE d.dept = e.dept) l
SELECT DISTINCT dept FROM emp
SELECT DISTINCT ON (dept) dept, name FROM emp ORDER BY dept, name
SELECT DISTINCT dept FROM emp ORDER BY name
SELECT name FROM emp LIMIT 0
SELECT name FROM emp ORDER BY name LIMIT 2 OFFSET 1
SELECT name FROM emp ORDER BY name FETCH FIRST 2 ROWS ONLY
SELECT name FROM emp ORDER BY 2
SELECT name, count(*) FROM emp
SELECT name FROM emp WHERE count(*) > 1
SELECT name FROM emp WHERE rank() OVER () = 1
SELECT max(max(name)) FROM emp
SELECT upper(name) || '-' || dept FROM emp
SELECT name || 1 FROM emp
SELECT name + 1 FROM emp
SELECT name = 1 FROM emp
SELECT name FROM emp WHERE name
SELECT CASE WHEN name = 'Ann' THEN 1 ELSE 'x' END FROM emp
SELECT CASE WHEN name = 'Ann' THEN 1 ELSE 0 END FROM emp
SELECT coalesce(dept, 'none') FROM emp
SELECT coalesce(name, 1) FROM emp
SELECT name FROM emp WHERE name LIKE 'A%'
SELECT name FROM emp WHERE name ILIKE 'a__'
SELECT name FROM emp WHERE name ~ '^[A-C]'
SELECT name FROM emp WHERE name BETWEEN 'A' AND 'C'
SELECT name FROM emp WHERE (name, dept) = ('Ann', 'it')
SELECT name FROM emp WHERE (name, dept) IN (('Ann', 'it'), ('Cid', 'hr'))
SELECT name FROM emp WHERE hired > '2020-06-01'
SELECT extract(year FROM hired) FROM emp
SELECT id / 2, id % 2, -id, id * 1.5 FROM emp
SELECT sal / 2, round(sal, 1), floor(sal), abs(sal) FROM emp
SELECT sum(id), avg(id), min(sal), max(hired), count(DISTINCT dept) FROM emp
SELECT sum(sal) FILTER (WHERE dept = 'it') FROM emp
SELECT hired + 1, hired - 1 FROM emp
SELECT hired - hired FROM emp
SELECT hired + id FROM emp
SELECT name FROM emp WHERE id = '1'
SELECT CAST(id AS text), id::numeric, '7'::int FROM emp
SELECT name::date FROM emp LIMIT 0
SELECT hired::integer FROM emp
SELECT current_user, session_user IS NOT NULL
SELECT name FROM emp WHERE name = current_user
SELECT 1 + 1, 'a', NULL, true
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (x, y) WHERE x > 1
SELECT * FROM (VALUES (1, 'a'), (2)) AS v (x, y)
SELECT *
SELECT x.a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) x
SELECT a FROM (SELECT 1 AS a) x, (SELECT 2 AS a) y
SELECT name FROM emp e JOIN emp f ON e.id = f.id
SELECT e.name FROM emp e JOIN emp f ON e.name = f.name
SELECT name FROM rich
SELECT * FROM rich
SELECT sal FROM rich
SELECT count(*) FROM rich
SELECT * FROM chain
SELECT name FROM rich WHERE sal > 200
SELECT r.name FROM rich r JOIN emp e ON r.name = e.name
SELECT * FROM note
SELECT body FROM note WHERE mark > 1
SELECT count(*) FROM note
SELECT author, count(*) FROM note GROUP BY author
SELECT n.body FROM note n JOIN note m ON n.mark = m.mark
SELECT name FROM emp WHERE name IN (SELECT author FROM note)
SELECT id, name, dept FROM emp GROUP BY id
SELECT dept, name FROM emp GROUP BY dept
SELECT grouping(dept), count(*) FROM emp GROUP BY ROLLUP (dept)
SELECT dept, name, count(*) FROM emp GROUP BY GROUPING SETS ((dept), (name))
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM emp
SELECT lag(name) OVER (ORDER BY name) FROM emp
SELECT row_number() OVER w FROM emp WINDOW w AS (ORDER BY name)
SELECT name FROM emp WHERE dept = ANY (SELECT dept FROM dep)
SELECT name FROM emp WHERE id > ALL (SELECT boss FROM dep WHERE boss IS NOT NULL)
SELECT name FROM emp WHERE (SELECT dept, boss FROM dep) = 1
SELECT lower(id) FROM emp
SELECT no_such_function(name) FROM emp
SELECT nullif(name, 'Ann'), greatest(name, dept), least(id, 3) FROM emp
SELECT substring(name FROM 2), substring(name, 1, 2), position('n' IN name) FROM emp
SELECT left(name, 1), right(name, 1), length(name), replace(name, 'n', 'm') FROM emp
SELECT trim(name), lpad(name, 5, '.'), split_part(name, 'n', 1), md5(name) FROM emp
SELECT concat(name, NULL, id), concat_ws('-', name, dept) FROM emp
SELECT name IS NULL, name IS NOT NULL, (id = 1) IS TRUE, dept IS DISTINCT FROM 'it' FROM emp
"""

WRITES = """
UPDATE rich SET name = 'x'
UPDATE rich SET name = 'x' WHERE sal > 200 RETURNING name
UPDATE rich SET sal = sal + 1 RETURNING name, sal
INSERT INTO rich VALUES ('Zoe', 500)
DELETE FROM rich WHERE name = 'Cid'
DELETE FROM rich
UPDATE chain SET name = upper(name)
UPDATE plain SET who = who || '!' WHERE place = 'it' RETURNING who, place
UPDATE plain SET who = 'x', nr = nr
UPDATE plain SET twice = 'x'
UPDATE plain SET nr = 9 FROM dep d WHERE d.dept = plain.place
INSERT INTO plain (nr, who) VALUES (20, 'Zoe') RETURNING nr, who, twice
INSERT INTO plain (nr, twice) VALUES (20, 'Zoe')
INSERT INTO plain VALUES (20, 'Zoe')
DELETE FROM plain WHERE place = 'hr' RETURNING nr
DELETE FROM plain USING emp e WHERE e.id = plain.nr AND e.sal > 100
UPDATE plain2 SET who = 'y' WHERE nr = 1 RETURNING who
DELETE FROM plain2 WHERE twice = 'AnnAnn'
UPDATE plain SET nr = 30, nr = 31
INSERT INTO plain (nr, who) VALUES (1, 'x') ON CONFLICT DO NOTHING
INSERT INTO plain (nr, who) VALUES (1, 'x') ON CONFLICT (nr) DO NOTHING
INSERT INTO open (nr, who) VALUES (1, 'x') ON CONFLICT (nr) DO UPDATE SET who = excluded.who || '!' RETURNING nr, who
INSERT INTO open (nr, who) VALUES (1, 'x') ON CONFLICT (nr) DO UPDATE SET who = open.who WHERE open.nr > 1
INSERT INTO open (nr, nr2) VALUES (1, 2)
UPDATE counted SET n = 1
INSERT INTO counted VALUES (1)
DELETE FROM counted
UPDATE emp SET name = d.dept FROM dep d WHERE d.dept = emp.dept
UPDATE emp e SET name = d.dept FROM dep d WHERE d.dept = e.dept RETURNING e.name
UPDATE emp SET name = d.dept FROM dep d WHERE d.boss = emp.id RETURNING emp.id, name
UPDATE dep SET boss = e.id FROM emp e WHERE e.dept = dep.dept AND e.sal > 100
UPDATE dep SET boss = 7 FROM emp e JOIN note n ON n.author = e.name WHERE e.dept = dep.dept
UPDATE dep SET boss = n FROM (SELECT max(id) AS n FROM emp) x RETURNING dept, boss
UPDATE dep SET boss = v.x FROM (VALUES ('it', 8), ('hr', 9)) AS v (d, x) WHERE v.d = dep.dept RETURNING dept, boss
UPDATE dep SET (boss, budget) = ROW (4, 5) WHERE dept = 'it' RETURNING boss, budget
UPDATE emp SET name = 'x' FROM emp
UPDATE emp SET name = 'x' FROM nowhere
UPDATE emp SET name = x.name FROM note x WHERE x.id = emp.id
UPDATE emp SET name = dept FROM dep
WITH w AS (SELECT dept FROM dep) UPDATE emp SET name = w.dept FROM w WHERE w.dept = emp.dept RETURNING id
WITH w AS (SELECT dept FROM dep) UPDATE emp SET name = 'x' WHERE dept IN (SELECT dept FROM w) RETURNING id
WITH w AS (SELECT id FROM emp WHERE sal > 100) DELETE FROM note WHERE id IN (SELECT id FROM w)
DELETE FROM note USING emp e WHERE e.name = note.author RETURNING note.id
DELETE FROM note USING emp e, dep d WHERE e.name = note.author AND d.boss = e.id
DELETE FROM dep USING emp WHERE emp.dept = dep.dept AND emp.sal > 100
DELETE FROM dep d USING emp e WHERE e.dept = d.dept RETURNING d.dept
INSERT INTO emp (id, name) VALUES (10, 'Zoe')
INSERT INTO emp (id, name, sal) VALUES (10, 'Zoe', 1)
INSERT INTO emp VALUES (10, 'Zoe')
INSERT INTO emp (id, name) VALUES (10, 'Zoe') RETURNING id
INSERT INTO emp (id, name) VALUES (10, 'Zoe') RETURNING sal
INSERT INTO emp (id, name) VALUES (10, 'Zoe') RETURNING *
INSERT INTO emp (id, name) SELECT id + 100, name FROM emp
INSERT INTO emp (id, name) SELECT id + 100, dept FROM emp
INSERT INTO emp (id, nothing) VALUES (1, 2)
INSERT INTO emp (id, id) VALUES (1, 2)
INSERT INTO emp (id, name) VALUES (10)
INSERT INTO emp (id) VALUES (10, 'Zoe')
INSERT INTO emp (id, name) VALUES ('x'::text, 'Zoe')
INSERT INTO emp (id, name) VALUES (10, 5)
INSERT INTO nobody (a) VALUES (1)
INSERT INTO dep (dept) VALUES ('new') ON CONFLICT DO NOTHING
INSERT INTO dep (dept) VALUES ('it') ON CONFLICT (dept) DO NOTHING
INSERT INTO dep (dept) VALUES ('it') ON CONFLICT (budget) DO NOTHING
INSERT INTO dep (dept, boss) VALUES ('it', 5) ON CONFLICT (dept) DO UPDATE SET boss = 5
INSERT INTO dep (dept, boss) VALUES ('it', 5) ON CONFLICT (dept) DO UPDATE SET boss = excluded.boss
INSERT INTO dep AS d (dept, boss) VALUES ('it', 5) ON CONFLICT (dept) DO UPDATE SET boss = d.boss
INSERT INTO dep DEFAULT VALUES
INSERT INTO note (id, author, mark) VALUES (20, 'ann', 1)
INSERT INTO note (id, author, mark) VALUES (20, 'x', 1), (21, 'y', NULL)
UPDATE emp SET name = 'Q'
UPDATE emp SET name = 'Q' WHERE id = 1
UPDATE emp SET name = 'Q' WHERE sal > 1
UPDATE emp SET name = name || 'x'
UPDATE emp SET name = dept
UPDATE emp SET sal = 1
UPDATE emp SET name = 'Q', sal = 1
UPDATE emp SET name = 'Q' RETURNING name
UPDATE emp SET name = 'Q' RETURNING sal
UPDATE emp SET name = 'Q' RETURNING *
UPDATE emp SET nothing = 1
UPDATE emp SET name = 'a', name = 'b'
UPDATE emp AS e SET name = 'Q' WHERE e.id = 1
UPDATE emp AS e SET name = 'Q' WHERE emp.id = 1
UPDATE emp SET name = (SELECT dept FROM dep LIMIT 1)
UPDATE emp SET name = (SELECT max(budget)::text FROM dep)
UPDATE emp SET sal = 'abc'::text
UPDATE dep SET budget = 1
UPDATE dep SET budget = budget + 1
UPDATE dep SET budget = 1 WHERE dept = 'it'
UPDATE dep SET (boss, budget) = (1, 2) WHERE dept = 'it'
UPDATE note SET body = 'x' RETURNING id
UPDATE note SET body = 'x' WHERE mark > 0 RETURNING id, body
UPDATE note SET mark = 3
DELETE FROM dep
DELETE FROM dep WHERE dept = 'it'
DELETE FROM dep WHERE budget = 1
DELETE FROM emp
DELETE FROM emp WHERE id = 1
DELETE FROM note RETURNING id
DELETE FROM note WHERE mark = 0 RETURNING id
DELETE FROM dep RETURNING dept
"""

# Each is asked of every row of `emp`.
EXPRESSIONS = r"""
'{"a": {"b": 7}, "c": null}'::json -> 'a' ->> 'b'
('{"a": 5}'::jsonb ->> 'a')::int + id
'{"c": null}'::jsonb ->> 'c'
'{"c": null}'::jsonb -> 'd'
'[5, "x", null]'::json ->> 1
'[5, 6]'::jsonb -> 9
'{"a.b": 1, "$.a": 2}'::json ->> 'a.b'
'{"a.b": 1, "$.a": 2}'::json ->> '$.a'
'{"0": 1}'::jsonb ->> 0
'"x"'::json ->> 'a'
name -> 'a'
id = ANY ('{1,3}')
id = ANY (ARRAY[1, 3])
NOT id = ANY (ARRAY[1, NULL])
id <> ALL (ARRAY[1, 3])
id <> ALL ('{1,NULL}'::int[])
id > ANY ('{2,3}')
id <= ALL (ARRAY[2, 3])
id <> ANY (ARRAY[1, 1])
id = SOME ('{1}'::bigint[])
id = ANY ('{}')
id <> ALL ('{}')
id = ANY (NULL)
id <> ALL (NULL::int[])
dept = ANY ('{it,NULL}')
dept <> ALL ('{it}')
NOT dept = ANY ('{it}')
name = ANY ('{Ann,"Bob, x"}')
name = ANY (ARRAY['Ann', dept])
sal = ANY ('{100,200.5}')
sal > ALL (ARRAY[1.5, 2])
hired = ANY (ARRAY['2020-01-01', '2021-05-05']::date[])
name = ANY ('{1,2}'::int[])
id = ANY ('{a}')
id = ANY ('{1,2')
id = ANY (id)
ARRAY[id, 2, NULL]
ARRAY[name, 'x y', NULL, 'a"b', 'null', '']
(ARRAY[id, sal])[2]
ARRAY[id = 1, true]
ARRAY[hired]
ARRAY[]::int[]
ARRAY['1', '2']::int[]
ARRAY[1, 2]::bigint[]
(ARRAY[1.5, 2]::numeric[])[1]
ARRAY[id, name]
ARRAY[]
'{1,2}'::int[]
'{a,"b c",NULL,"q\"x"}'::text[]
'{}'::text[]
NULL::int[]
(ARRAY[id, 7])[1]
(ARRAY[id, 7])[3]
('{5,6}'::int[])[2]
array_length(ARRAY[id, 2], 1)
array_length('{}'::int[], 1)
array_length(NULL::int[], 1)
cardinality(ARRAY[id, 2])
cardinality('{}'::int[])
array_to_string(ARRAY[id, NULL, 3], '-')
array_to_string(ARRAY[name, dept], ', ')
array_to_string('{}'::text[], ',')
string_to_array('a,b,,c', ',')
string_to_array(name, 'n')
string_to_array('', ',')
array_append(ARRAY[1, 2], id)
array_append(NULL::int[], id)
array_cat(ARRAY[1], ARRAY[id])
array_cat(NULL::int[], NULL)
ARRAY[1] || id
id || ARRAY[1, 2]
ARRAY[1] || ARRAY[id]
ARRAY[1] || '{4}'
NULL::int[] || ARRAY[id]
ARRAY[1] || 'x'::text
array_position(ARRAY[4, 3, 2], id)
array_position(ARRAY[1, 2], 9)
ARRAY[1, 2, 3] @> ARRAY[id]
ARRAY[id] <@ ARRAY[1, 2]
ARRAY[id, 2] && '{1}'
ARRAY[1, NULL] @> ARRAY[NULL]::int[]
ARRAY[1, NULL] && ARRAY[NULL]::int[]
ARRAY[1] @> '{}'
ARRAY[1] @> NULL
ARRAY[1] && ARRAY[2.5]
ARRAY[1, NULL] = ARRAY[1, NULL]
ARRAY[id] = '{1}'
ARRAY[id] <> ARRAY[2]
coalesce(NULL::int[], '{7}')
CASE WHEN id = 1 THEN ARRAY[1] ELSE '{}' END
regexp_replace(name, 'n', 'm')
regexp_replace(name, '[an]', '<\&>', 'g')
regexp_replace(name, '(A)(.)', '\2\1', 'gi')
regexp_replace(name, NULL, 'x')
repeat(name, 3)
repeat(name, 0)
ascii(name)
to_char(hired, 'YYYY-MM-DD')
to_char(hired, 'DDD/YYYY')
to_char(hired::timestamp + interval '90 minutes', 'DD.MM.YYYY HH24:MI:SS.US')
abs(id - 3)
sign(sal - 100)
ceil(sal)
floor(sal)
ceil(id)
round(sal)
round(sal, 1)
trunc(sal)
trunc(sal, 1)
sqrt(id)
sqrt(sal)
exp(id)
ln(id)
log(id)
log(2, sal)
power(id, 2)
power(sal, 2)
id ^ 2
sin(id)
cos(id)
tan(id)
asin(id / 10.0)
acos(id / 10.0)
atan(id)
atan2(id, 2)
cbrt(id)
degrees(id)
radians(id)
pi()
mod(id, 2)
id % 3
-id % 3
-7 / 2
7 / -2
id / 2
sal / 3
id / 2.0
gcd(id, 4)
lcm(id, 4)
greatest(id, 3)
least(id, sal)
lower(name)
upper(name)
length(name)
char_length(name)
btrim(name, 'A')
ltrim(name, 'A')
rtrim(name, 'n')
trim(both 'n' from name)
left(name, 2)
left(name, -1)
right(name, 2)
right(name, -1)
left(name, 0)
substring(name, 2)
substring(name, 0, 2)
substring(name, -1, 3)
substring(name, id)
substring(name, id - 3, 3)
substr(name, 2, 1)
replace(name, 'n', 'xx')
strpos(name, 'n')
position('n' in name)
name || dept
concat(name, dept, id)
concat_ws('/', name, dept)
reverse(name)
starts_with(name, 'A')
md5(name)
split_part(name, 'n', 1)
split_part(name, 'n', 2)
translate(name, 'An', 'Bm')
lpad(name, 6, '*')
rpad(name, 2)
coalesce(dept, 'x')
nullif(id, 2)
extract(year from hired)
extract(month from hired)
extract(dow from hired)
extract(isodow from hired)
extract(doy from hired)
extract(week from hired)
extract(quarter from hired)
extract(epoch from hired)
extract(century from hired)
extract(decade from hired)
date_part('day', hired)
make_date(2020, id, 1)
hired + interval '1 month'
hired - interval '1 year 2 days'
hired + 5
hired - date '2020-01-01'
hired > '2020-01-01'
name like '%n'
name like 'A\nn'
name like 'A_n'
name ilike 'aNN'
name not like 'A%'
name like 'A!nn' escape '!'
name ~ 'n+$'
name ~* 'N'
name !~ 'n'
cast(id as text)
cast(sal as integer)
cast(sal as text)
cast(id as numeric)
cast('1.23456789' as numeric)
cast(id as numeric(5,1))
cast(name as varchar(2))
cast(id as boolean)
cast(hired as text)
cast(hired as timestamp)
cast(2.5 as integer)
cast(3.5 as integer)
cast(id = 1 as text)
id = 1
case when id > 2 then 'a' when id > 1 then 'b' end
case id when 1 then 'x' else 'y' end
id between 2 and 4
id between symmetric 4 and 2
id in (1, 2)
id not in (1, 2)
id is distinct from 1
(id, name) < (2, 'Z')
not (id = 1)
1e3 * id
.5 + id
1000000 * 1000
2147483647 + 1::bigint
9999999999 + id
interval '1 day' * id
'a' || 1
true and id = 1
timestamp '2020-01-01 10:00:00' + interval '90 minutes'
timestamp '2020-01-02 00:00' - timestamp '2020-01-01 12:00'
time '10:00' + interval '1 hour'
uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
E'a\tb'
$$it's$$
sal * 2
sal + id
sal % 7
round(sal * 1.15, 2)
round(2.5)
round(-2.5)
round(id / 2.0)
sal / 0.3
cast('2020-02-30' as text)
cast('abc' as char(2))
cast(sal as float4)
cast(id as float8) / 3
cast(id as smallint) / 2::smallint
sum(id) over (order by id)
lag(name, 1, 'none') over (order by id)
lead(id) over (order by id)
first_value(name) over (order by id)
last_value(name) over (order by id)
nth_value(name, 2) over (order by id)
ntile(2) over (order by id)
percent_rank() over (order by id)
cume_dist() over (order by id)
dense_rank() over (order by dept)
count(*) filter (where id > 2) over ()
avg(id) over (rows between 1 preceding and 1 following)
sum(id) over (order by id range between unbounded preceding and current row)
sum(id) over (order by id desc groups 1 preceding)
"""

AGGREGATES = """
array_agg(id ORDER BY id)
array_agg(dept ORDER BY id DESC)
array_agg(sal ORDER BY sal)
array_agg(hired ORDER BY id)
array_agg(DISTINCT dept ORDER BY dept)
array_agg(id ORDER BY id) FILTER (WHERE id > 2)
array_agg(id) FILTER (WHERE id > 99)
string_agg(name, ', ' ORDER BY name)
string_agg(dept, '' ORDER BY id)
string_agg(DISTINCT dept, '/' ORDER BY dept)
string_agg(name, NULL ORDER BY name)
string_agg(id, ',')
array_to_string(array_agg(name ORDER BY name), '+')
cardinality(array_agg(id))
3 = ANY (array_agg(id))
count(*)
count(dept)
count(distinct dept)
sum(id)
sum(sal)
sum(cast(id as bigint))
avg(id)
avg(sal)
min(name)
max(hired)
stddev(id)
stddev_samp(id)
stddev_pop(sal)
variance(id)
var_samp(id)
var_pop(sal)
corr(id, sal)
covar_pop(id, sal)
covar_samp(id, sal)
regr_slope(sal, id)
regr_intercept(sal, id)
regr_r2(sal, id)
bool_and(id > 1)
bool_or(id > 4)
every(id > 0)
percentile_cont(0.5) within group (order by sal)
percentile_disc(0.5) within group (order by name)
percentile_disc(0.3) within group (order by id desc)
percentile_cont(0.25) within group (order by id) filter (where id > 1)
sum(id) filter (where dept = 'it')
sum(distinct id % 2)
max(id) - min(id)
sum(id) / count(*)
count(*) * 1.5
any_value(1)
"""
