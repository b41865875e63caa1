/** A service somebody else wrote, and how to make it work. */
export interface ForeignService {
  /** What npm installs. */
  readonly packages: readonly string[];
  /** Statements that prepare the database. */
  readonly schema: string;
  /** Program, arguments and environment that start it. */
  command(
    databaseUrl: string,
    port: number,
  ): { program: string; args: string[]; env: Record<string, string> };
  /** Called once it answers. @returns what to send per request. */
  prepare(
    url: string,
  ): Promise<(n: number) => { path: string; method: string; headers: Record<string, string>; body: string }>;
  /** Statements for tables that the service itself makes; run once it is prepared. */
  readonly afterwards?: string;
  /** Answers when it is up. */
  readonly health: string;
  readonly ratesPerSecond: readonly number[];
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const PARSE_HEADERS = {
  ...JSON_HEADERS,
  'x-parse-application-id': 'shop',
  'x-parse-master-key': 'only-for-a-test',
};

/** Every change of a row takes 30 ms, and holds the row for them. */
const settling = (table: string) => `
  CREATE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.03); RETURN NEW; END $$;
  CREATE TRIGGER settle AFTER UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION settle();`;

export const SERVICES: Record<string, ForeignService> = {
  postgraphile: {
    packages: ['postgraphile@5'],
    schema: `
      CREATE SCHEMA shop;
      CREATE TABLE shop.item (id int PRIMARY KEY, name text NOT NULL, sold int NOT NULL DEFAULT 0);
      INSERT INTO shop.item SELECT g, 'item ' || g FROM generate_series(1, 50) g;
      ${settling('shop.item')}`,
    command: (databaseUrl, port) => ({
      program: 'node_modules/postgraphile/dist/cli-run.js',
      args: [
        '-c',
        databaseUrl,
        '-P',
        'postgraphile/presets/amber',
        '--schema',
        'shop',
        '--port',
        String(port),
      ],
      env: { NODE_ENV: 'production', GRAPHILE_ENV: 'production' },
    }),
    health: '/graphql?query=%7B__typename%7D',
    ratesPerSecond: [10, 25, 40, 60],
    prepare: async (url) => {
      const ask = '{ __type(name: "UpdateItemByRowIdInput") { inputFields { name } } }';
      const body = JSON.stringify({ query: ask });
      const answer = await fetch(`${url}/graphql`, { method: 'POST', headers: JSON_HEADERS, body });
      const { data } = (await answer.json()) as { data: { __type: { inputFields: { name: string }[] } } };
      const patch = data.__type.inputFields.map((field) => field.name).find((name) => /patch$/i.test(name));
      return (n) => {
        // Six in ten buy the same item.
        const id = n % 10 < 6 ? 1 : 2 + (n % 40);
        const query = `mutation { updateItemByRowId(input: { rowId: ${id}, ${patch}: { sold: ${n} } }) { item { sold } } }`;
        return { path: '/graphql', method: 'POST', headers: JSON_HEADERS, body: JSON.stringify({ query }) };
      };
    },
  },
  'parse-server': {
    packages: ['parse-server@8'],
    schema: 'SELECT 1',
    command: (databaseUrl, port) => ({
      program: 'node_modules/parse-server/bin/parse-server',
      args: [
        '--appId',
        'shop',
        '--masterKey',
        'only-for-a-test',
        '--databaseURI',
        databaseUrl,
        '--port',
        String(port),
      ],
      env: { NODE_ENV: 'production' },
    }),
    health: '/parse/health',
    ratesPerSecond: [10, 25, 40, 60],
    prepare: async (url) => {
      const counters: string[] = [];
      while (counters.length < 40) {
        const body = JSON.stringify({ n: 0 });
        const made = await fetch(`${url}/parse/classes/Counter`, {
          method: 'POST',
          headers: PARSE_HEADERS,
          body,
        });
        counters.push(((await made.json()) as { objectId: string }).objectId);
      }
      const body = JSON.stringify({ n: { __op: 'Increment', amount: 1 } });
      return (n) => {
        // Six in ten count on the same one.
        const id = counters[n % 10 < 6 ? 0 : n % counters.length];
        return { path: `/parse/classes/Counter/${id}`, method: 'PUT', headers: PARSE_HEADERS, body };
      };
    },
    afterwards: settling('"Counter"'),
  },
};
