import { admission } from '@waitfall/instrumentation';
import express, { type Express, type Request, type Response } from 'express';
import type pg from 'pg';
import { Eligibility } from './eligibility.ts';
import { forcedWork } from './forced.ts';
import { CAMPAIGNS } from './schema.ts';
import { signUp } from './sign-up.ts';
import { type OutboxState, ServiceStats } from './stats.ts';
import type { ServiceConfig } from './variants.ts';

/** @returns the sign-up service as an express application that takes its connections from `pool`. */
export function createApp(
  config: ServiceConfig,
  pool: pg.Pool,
  outbox: () => Promise<OutboxState | null>,
): Express {
  const app = express();
  app.disable('x-powered-by');
  const limiter = admission({ maxConcurrent: config.slots, maxQueue: config.queue });
  const eligibility = new Eligibility(config.rulesKiB, config.cacheRules);
  const forced = config.forced && forcedWork(config.forced);
  const stats = new ServiceStats(() => limiter.stats(), pool, eligibility, outbox);

  app.get('/health', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/stats', async (_request, response) => {
    response.json(await stats.read());
  });

  app.post('/signup', limiter, express.json({ limit: '16kb' }), async (request, response) => {
    const body = readSignUp(request.body);
    if (body === null) {
      response.status(400).json({ error: 'BAD_REQUEST', expected: '{ campaign, user, age, region }' });
      return;
    }
    if (!(await eligibility.allows(body))) {
      response.status(403).json({ error: 'NOT_ELIGIBLE' });
      return;
    }
    if (forced !== undefined) await (await forced)();
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      const result = await signUp(client, config, body.campaign, body.user);
      if (result.kind === 'registered') response.status(201).json({ id: Number(result.id) });
      else if (result.kind === 'sold-out') response.status(410).json({ error: 'SOLD_OUT' });
      else response.status(409).json({ error: 'ALREADY_REGISTERED' });
    } catch (error) {
      broken = error as Error;
      throw error;
    } finally {
      client.release(broken);
    }
  });

  app.get('/signup/:id', limiter, async (request, response) => {
    const found = await pool.query({
      name: 'find',
      text: 'SELECT campaign_id AS campaign, created_at AS at FROM registration WHERE id = $1',
      values: [request.params['id']],
    });
    if (found.rowCount === 0) response.status(404).json({ error: 'NOT_FOUND' });
    else response.json({ id: Number(request.params['id']), ...found.rows[0] });
  });

  app.use((error: Error, _request: Request, response: Response, next: (error: Error) => void) => {
    stats.writeFailures++;
    if (response.headersSent) return next(error);
    response.status(500).json({ error: 'WRITE_FAILED', detail: error.message });
  });
  return app;
}

interface SignUpBody {
  readonly campaign: number;
  readonly user: number;
  readonly age: number;
  readonly region: string;
}

function readSignUp(body: unknown): SignUpBody | null {
  if (typeof body !== 'object' || body === null) return null;
  const { campaign, user, age, region } = body as Record<string, unknown>;
  if (!Number.isSafeInteger(user) || typeof age !== 'number' || typeof region !== 'string') return null;
  if (!Number.isSafeInteger(campaign) || Number(campaign) < 1 || Number(campaign) > CAMPAIGNS) return null;
  return { campaign: campaign as number, user: user as number, age, region };
}
