// What a Node.js program does with the server; prints one JSON object.
const fs = require("node:fs");
const { Client } = require("pg");

async function main() {
  const [host, port, user, password, database, authority] = process.argv.slice(2);
  const client = new Client({
    host, port: Number(port), user, password, database,
    ssl: { ca: fs.readFileSync(authority), servername: "localhost" },
  });
  await client.connect();
  const told = {};
  const rows = await client.query("select id, name, born::text as born, weight, is_active, score from people order by id limit 2");
  told.rows = rows.rows;
  told.oids = rows.fields.map((field) => field.dataTypeID);
  const values = [42, "Grüße", true, new Date(Date.UTC(2024, 1, 29, 1, 2, 3)), null, Buffer.from([0, 255])];
  const typed = await client.query(
    "select $1::int as a, $2::text as b, $3::boolean as c, $4::timestamptz as d, $5::text as e, $6::bytea as f", values);
  told.typed = { ...typed.rows[0], d: typed.rows[0].d.toISOString(), f: typed.rows[0].f.toString("hex") };
  const named = { name: "by-id", text: "select name from people where id = $1::int" };
  told.named = [];
  for (const id of [1, 3, 5]) {
    told.named.push((await client.query({ ...named, values: [id] })).rows[0].name);
  }
  try {
    await client.query("select * from no_such_table");
  } catch (error) {
    told.failure = error.code;
  }
  await client.query("begin");
  await client.query("delete from people");
  await client.query("rollback");
  told.count = (await client.query("select count(*)::int as n from people")).rows[0].n;
  const several = await client.query("select 1 as n; select 2 as n");
  told.several = several.map((each) => each.rows[0].n);
  await client.end();
  console.log(JSON.stringify(told));
}

main().catch((error) => { console.error(error); process.exit(1); });
