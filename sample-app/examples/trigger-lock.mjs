// A trigger changes one row that no statement names: only the server knows who waits for whom, and is asked.
import { createServer } from 'node:http';
import pg from 'pg';
import { listen } from './listen.mjs';

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  application_name: 'shop',
  max: 10,
});
await pool.query(`
  CREATE TABLE sale (amount int);
  CREATE TABLE total (id int PRIMARY KEY, amount int);
  INSERT INTO total VALUES (1, 0);
  CREATE FUNCTION add_up() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN UPDATE total SET amount = amount + NEW.amount WHERE id = 1; RETURN NEW; END $$;
  CREATE TRIGGER add_up AFTER INSERT ON sale FOR EACH ROW EXECUTE FUNCTION add_up()`);

listen(
  createServer(async (_request, response) => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO sale VALUES (5)');
    await client.query('SELECT pg_sleep(0.04)');
    await client.query('COMMIT');
    client.release();
    response.end('done');
  }),
  () => pool.end(),
);
