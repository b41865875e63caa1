import { KNOWN_NAMES } from '../../classify/known-names.ts';
import type { Analysis } from '../../infer/analysis.ts';
import { plural } from '../../report/sections/head.ts';
import { count, percent } from '../../report/units.ts';
import {
  accountedShare,
  hasWaitfall,
  isClientOnly,
  type ServiceFacts,
  textOf,
  type UnmeasuredName,
} from './facts.ts';

/** One thing that is missing in a service, and what to do about it. */
export interface Advice {
  readonly id: string;
  /** `mend`: numbers are wrong or missing; `more`: more could be measured. */
  readonly level: 'mend' | 'more';
  readonly text: string;
  readonly how: string;
}

/** Looks at a service. @returns null where there is nothing to say. */
type Rule = (facts: ServiceFacts, analysis: Analysis) => Advice | null;

/** Share of a service's time that may stay unexplained before the doctor speaks of it. */
const UNEXPLAINED_SHARE = 0.1;
/** Starts that fall on a whole millisecond: by chance one in a million. */
const FLOORED_SHARE = 0.5;
const LEAST_SPANS = 20;
/** Requests without a route: unknown paths have none either. */
const ROUTELESS_SHARE = 0.5;
/** Roots whose parent is missing: more than these are no accident of sampling or of the end of a file. */
const ORPHAN_SHARE = 0.05;

const languageOf = ({ resource: { attributes } }: ServiceFacts) =>
  textOf(attributes, 'telemetry.sdk.language') || textOf(attributes, 'process.runtime.name');
const isNode = (facts: ServiceFacts) => languageOf(facts) === 'nodejs';
const hasScope = ({ scopes }: ServiceFacts, word: string) =>
  [...scopes.values()].some(({ name }) => name.includes(word));

const noName: Rule = ({ service }) =>
  service === '' || service.startsWith('unknown_service')
    ? {
        id: 'no-service-name',
        level: 'mend',
        text: 'The service has no name: all services without one are taken for the same.',
        how: 'OTEL_SERVICE_NAME=orders',
      }
    : null;

const noInstance: Rule = ({ instances, spans }) =>
  instances.has('') && spans >= LEAST_SPANS
    ? {
        id: 'no-instance',
        level: 'mend',
        text: 'Nothing tells its processes apart: with more than one, their pools and event loops are counted as one.',
        how: 'set service.instance.id (or host.name and process.pid) as resource attributes',
      }
    : null;

const noWaitfall: Rule = (facts) => {
  if (hasWaitfall(facts) || facts.statedWaits > 0 || isClientOnly(facts)) return null;
  const language = languageOf(facts);
  if (!isNode(facts)) {
    return {
      id: 'other-language',
      level: 'more',
      text: `${language === '' ? 'The export does not say in which language it runs' : `Not a Node service (${language})`}: only what its own instrumentation records is seen.`,
      how: `${language === '' ? 'for a Node service waitfall init in its folder; else ' : ''}spans with waitfall.segment and waitfall.resource, or --rules for the spans it has`,
    };
  }
  return {
    id: 'not-instrumented',
    level: 'more',
    text: '@waitfall/instrumentation recorded nothing here: waits for pools, new connections, row locks and the event loop are not told apart.',
    how: 'waitfall init, in the folder of the service',
  };
};

const noServer: Rule = (facts) =>
  facts.serverSpans > 0 || isClientOnly(facts) || facts.spans < LEAST_SPANS || !hasWaitfall(facts)
    ? null
    : {
        id: 'no-server-spans',
        level: 'mend',
        text: 'No span of an incoming request: waits have no request to belong to.',
        how: 'load @waitfall/instrumentation/register before the application (node --import), or add the http instrumentation',
      };

const pgNotPatched: Rule = (facts) => {
  const usesPostgres = facts.databases.has('postgresql') || hasScope(facts, 'instrumentation-pg');
  if (!hasWaitfall(facts) || !usesPostgres || facts.segments.has('pool_wait')) return null;
  return {
    id: 'pg-not-patched',
    level: 'mend',
    text: 'Statements of PostgreSQL are recorded, waits for its pool are not: pg was loaded before the instrumentation, is part of a bundle, or no pool is used.',
    how: 'node --import @waitfall/instrumentation/register; keep pg external in a bundle; WAITFALL_PG_POOL must not be false',
  };
};

const flooredClock: Rule = (facts) =>
  isNode(facts) && facts.spans >= LEAST_SPANS && facts.wholeMillisecondStarts / facts.spans > FLOORED_SHARE
    ? {
        id: 'floored-clock',
        level: 'mend',
        text: `${percent(facts.wholeMillisecondStarts / facts.spans)} of its spans start on a whole millisecond (the default of the Node SDK): short waits blur, children stick out of their parents.`,
        how: 'wrap your span processor: new WaitfallSpanProcessor(new BatchSpanProcessor({ exporter }))',
      }
    : null;

const orphans: Rule = (facts) =>
  facts.orphanRoots >= 5 && facts.orphanRoots / facts.trees > ORPHAN_SHARE
    ? {
        id: 'orphans',
        level: 'mend',
        text: `${count(facts.orphanRoots)} of its ${plural(facts.trees, 'trace part')} hang under a span that is not in the export: its caller is not exported, samples differently, or lies in a file that was not given.`,
        how: 'give the export of the caller too; use a parent-based sampler',
      }
    : null;

const noRoutes: Rule = (facts) =>
  isNode(facts) &&
  facts.serverSpans >= LEAST_SPANS &&
  facts.withoutRoute / facts.serverSpans > ROUTELESS_SHARE
    ? {
        id: 'no-routes',
        level: 'more',
        text: `${percent(facts.withoutRoute / facts.serverSpans)} of its requests do not say their route: all of one method stand together.`,
        how: hasScope(facts, 'instrumentation-http')
          ? 'the instrumentation of its framework; in ES modules also --experimental-loader=@opentelemetry/instrumentation/hook.mjs'
          : 'a framework whose routes are known (express, Fastify, Koa with a router), or set http.route on the server span',
      }
    : null;

const noAdmission: Rule = (facts) =>
  facts.serverSpans > 0 && hasWaitfall(facts) && !facts.segments.has('admission_wait')
    ? {
        id: 'no-admission',
        level: 'more',
        text: 'It takes in whatever comes: where the requests wait before the first measured queue is not seen.',
        how: "admission(), koaAdmission() or fastifyAdmission() of '@waitfall/instrumentation'",
      }
    : null;

const noHolds: Rule = (facts) =>
  facts.segments.has('pool_wait') && facts.holds === 0
    ? {
        id: 'no-holds',
        level: 'more',
        text: 'Waits for a pool are recorded, how long its connections are held is not: no utilisation, no own demand.',
        how: hasWaitfall(facts)
          ? 'withHold() for pools of your own'
          : 'waitfall init, in the folder of the service',
      }
    : null;

const sampledWithoutWeight: Rule = ({ trees }, { requests }) =>
  trees > 0 && requests.chosenWithoutWeight > 0
    ? {
        id: 'sampled-without-weights',
        level: 'mend',
        text: 'A tail sampler chose traces without saying how many each stands for: rates, shares and percentiles are biased.',
        how: "the sampler's feature gate usetracestate (collector-config/README.md)",
      }
    : null;

/** Names that other libraries give to a wait. */
const LIKE_A_WAIT =
  /\b(wait|waiting|acquire|checkout|queue|queued|lock|mutex|semaphore|throttle|backoff|connect)\b/i;

const likeAWait: Rule = (facts) => {
  const found = mostUnmeasured(facts).find(
    ({ name }) => !KNOWN_NAMES.has(name) && LIKE_A_WAIT.test(name.replaceAll(/[._-]/g, ' ')),
  );
  if (found === undefined) return null;
  return {
    id: 'like-a-wait',
    level: 'more',
    text: `'${found.name}' sounds like a wait and is counted as unaccounted.`,
    how: `--rules rules.yaml with: rules: [{ name: "${found.name}", segment: pool_wait, resource: "NAME" }]`,
  };
};

const unexplainedTime: Rule = (facts) => {
  if (!unexplained(facts) || isClientOnly(facts)) return null;
  const names = mostUnmeasured(facts)
    .slice(0, 3)
    .map(({ name, ns }) => `${name} ${percent(ns / facts.ns)}`)
    .join(', ');
  return {
    id: 'unexplained-time',
    level: 'more',
    text: `${percent(facts.unmeasuredNs / facts.ns)} of its time is explained by no span: ${names}.`,
    how: hasWaitfall(facts)
      ? "withWait('name', …) around waits of your own, segment('work', …) around synchronous CPU work"
      : 'waitfall init, in the folder of the service',
  };
};

const RULES: readonly Rule[] = [
  noName,
  noInstance,
  noServer,
  pgNotPatched,
  flooredClock,
  orphans,
  sampledWithoutWeight,
  noWaitfall,
  likeAWait,
  unexplainedTime,
  noRoutes,
  noHolds,
  noAdmission,
];

/** @returns what to do for a service, the wrong before the missing. */
export function adviceFor(facts: ServiceFacts, analysis: Analysis): Advice[] {
  return RULES.flatMap((rule) => rule(facts, analysis) ?? []);
}

function unexplained(facts: ServiceFacts): boolean {
  const share = accountedShare(facts);
  return share !== null && 1 - share > UNEXPLAINED_SHARE;
}

function mostUnmeasured({ unmeasured }: ServiceFacts): UnmeasuredName[] {
  return [...unmeasured.values()].filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
}
