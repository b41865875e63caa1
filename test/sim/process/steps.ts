import { Ledger } from '../accounting.ts';
import { Task } from '../event-queue.ts';
import { Random } from '../random.ts';
import type { Parallel, Step } from '../scenario.ts';
import { runCall } from './call.ts';
import { type Context, Failure, type Program, TAIL_MARGIN_NS } from './context.ts';
import { runStatement, runTransaction } from './transaction.ts';
import { loopTurn, openSpan } from './waits.ts';

/** What a request does, one thing after the other. */
export function* runSteps(context: Context, steps: readonly Step[]): Program {
  for (const step of steps) {
    if (step.do === 'cpu') yield* loopTurn(context, step.cost);
    else if (step.do === 'statement') yield* runStatement(context, step);
    else if (step.do === 'transaction') yield* runTransaction(context, step);
    else if (step.do === 'call') yield* runCall(context, step);
    else if (step.do === 'parallel') yield* runParallel(context, step);
    else startTail(context, step.steps);
  }
}

/** Starts all branches, waits for the last; only that one's time is the request's. */
function* runParallel(context: Context, step: Parallel): Program {
  const { world, task } = context;
  const seed = context.random.below(2 ** 32);
  let open = step.branches.length;
  let waiting = false;
  let failure: Failure | null = null;
  let last: { endNs: number; ledger: Ledger | null } = { endNs: -1, ledger: null };
  step.branches.forEach((steps, i) => {
    const span = openSpan(context, 'branch', { name: `branch ${i + 1}` });
    const ledger = context.ledger ? new Ledger() : null;
    new Task(function* (own): Program {
      const branch: Context = {
        ...context,
        parent: span,
        ledger,
        random: new Random(seed, i),
        task: own,
        held: [],
      };
      try {
        yield* runSteps(branch, steps);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        failure = error;
      }
      const endNs = world.events.now;
      if (span) span.endNs = endNs;
      if (endNs > last.endNs) last = { endNs, ledger };
      open--;
      if (open === 0 && waiting) task.run();
    }).run();
  });
  if (open > 0) {
    waiting = true;
    yield;
  }
  if (last.ledger) context.ledger?.addAll(last.ledger);
  if (failure) throw failure;
}

/** Work that goes on by itself; its span is closed some time after the response's. */
function startTail(context: Context, steps: readonly Step[]): void {
  const { world, request } = context;
  const span = openSpan(context, 'tail', { name: 'flush' });
  new Task(function* (own): Program {
    const tail: Context = {
      ...context,
      parent: span,
      ledger: null,
      random: new Random(world.scenario.seed, 3, request.id),
      task: own,
      held: [],
    };
    try {
      yield* runSteps(tail, steps);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
    const earliest = request.endNs + TAIL_MARGIN_NS;
    if (request.endNs < 0) {
      context.atEnd.push(own);
      yield;
    } else if (world.events.now < earliest) {
      world.events.at(earliest, own);
      yield;
    }
    if (span) span.endNs = world.events.now;
  }).run();
}
