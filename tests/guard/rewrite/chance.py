"""Random queries over a table of which a user sees some columns and some rows."""

from __future__ import annotations

from random import Random

COLUMNS = ("a", "b", "c")
NUMBERS = ("a", "b")


class Queries:
    """Makes queries, one after the other; all of them are of visible columns."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def one(self) -> str:
        """Return a query whose rows do not depend on their order."""
        pick = self.chance.random()
        if pick < 0.15:
            word = self.chance.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
            return f"SELECT {self.number('t')} FROM t {word} SELECT {self.number('t')} FROM t"
        if pick < 0.3:
            return self.grouped()
        if pick < 0.4:
            inner = f"SELECT {self.number('t')} AS x, {self.text('t')} AS y FROM t{self.where('t')}"
            return f"WITH w AS ({inner}) SELECT w.x, u.c FROM w JOIN t u ON w.x = u.a"
        return self.plain()

    def plain(self) -> str:
        joins = self.chance.choice(
            [
                "",
                "",
                f" JOIN t u ON {self.condition('t')} AND t.a = u.b",
                " LEFT JOIN t u USING (a)",
                f" CROSS JOIN (SELECT max(b) AS m FROM t{self.where('t')}) v",
                ", LATERAL (SELECT count(*) AS n FROM t u WHERE u.a = t.b) l",
            ]
        )
        columns = ", ".join(self.value("t") for _ in range(self.chance.randint(1, 3)))
        if self.chance.random() < 0.15 and not joins:
            columns = "a, b, c"
        if self.chance.random() < 0.15:
            columns += f", sum({self.number('t')}) OVER (PARTITION BY t.c)"
        order = ""
        if not joins and self.chance.random() < 0.3:
            order = f" ORDER BY {self.number('t')}, t.a, t.b, t.c LIMIT {self.chance.randint(0, 5)}"
        return f"SELECT {columns} FROM t{joins}{self.where('t')}{order}"

    def grouped(self) -> str:
        key = self.chance.choice([self.number("t"), "t.c"])
        total = self.chance.choice(
            [
                f"sum({self.number('t')})",
                f"max({self.text('t')})",
                "count(*)",
                f"array_agg({self.number('t')} ORDER BY {self.number('t')})",
                f"string_agg({self.text('t')}, '' ORDER BY {self.text('t')})",
                "min(t.b) + count(t.c)",
            ]
        )
        having = (
            f" HAVING count(*) > {self.chance.randint(0, 2)}" if self.chance.random() < 0.4 else ""
        )
        return f"SELECT {key}, {total} FROM t{self.where('t')} GROUP BY {key}{having}"

    def where(self, of: str) -> str:
        return f" WHERE {self.condition(of)}" if self.chance.random() < 0.7 else ""

    def condition(self, of: str) -> str:
        made = [
            f"{self.number(of)} > {self.chance.randint(-3, 9)}",
            f"{self.number(of)} = {self.number(of)}",
            f"{self.text(of)} LIKE '%{self.chance.choice('xyz1')}%'",
            f"{of}.c IS NOT NULL",
            f"{of}.a IN (SELECT s.b FROM t s WHERE s.c = {of}.c)",
            f"EXISTS (SELECT 1 FROM t s WHERE s.a = {of}.b AND {self.number('s')} > 1)",
            f"CAST({of}.c AS integer) > 0",
            f"100 / {of}.b > {self.chance.randint(0, 9)}",
            f"{of}.a = ANY (ARRAY[{of}.b, {self.number(of)}])",
            f"{of}.b <> ALL ('{{{self.chance.randint(0, 3)},NULL}}')",
            f"string_to_array({of}.c, 'x') && ARRAY[{self.text(of)}]",
            f"{of}.b BETWEEN 1 AND (SELECT max(s.a) FROM t s)",
        ]
        chosen = self.chance.sample(made, self.chance.choice([1, 1, 2]))
        return self.chance.choice([" AND ", " OR "]).join(chosen)

    def value(self, of: str) -> str:
        return self.chance.choice([self.number, self.text])(of)

    def number(self, of: str) -> str:
        column = f"{of}.{self.chance.choice(NUMBERS)}"
        return self.chance.choice(
            [
                column,
                column,
                f"{column} + {self.chance.randint(0, 5)}",
                f"{column} * {of}.b",
                f"{column} / {self.chance.choice(['2', f'{of}.b'])}",
                f"{column} % 3",
                f"CAST({of}.c AS integer)",
                f"length({of}.c)",
                f"(ARRAY[{column}, {of}.b])[2]",
                f"cardinality(array_append(ARRAY[{column}], 1))",
                f"coalesce({column}, 0)",
                f"CASE WHEN {column} > 1 THEN {of}.a ELSE -{of}.b END",
            ]
        )

    def text(self, of: str) -> str:
        return self.chance.choice(
            [
                f"{of}.c",
                f"upper({of}.c)",
                f"{of}.c || {of}.a",
                f"substring({of}.c, {of}.a)",
                f"CAST({of}.b AS text)",
                f"regexp_replace({of}.c, '[xy]', '<\\\\&>', 'g')",
                f"array_to_string(ARRAY[{of}.c, {of}.a::text], '-')",
                f"repeat({of}.c, 2)",
                f"replace({of}.c, 'x', 'yy')",
            ]
        )
