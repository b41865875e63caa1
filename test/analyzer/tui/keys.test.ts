import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { Data } from '../../../analyzer/src/tui/data.ts';
import { draw } from '../../../analyzer/src/tui/frame.ts';
import { GLOSSARY } from '../../../analyzer/src/tui/glossary.ts';
import { keysOf } from '../../../analyzer/src/tui/input-keys.ts';
import { BINDINGS, worksIn } from '../../../analyzer/src/tui/keys.ts';
import { segmentText } from '../../../analyzer/src/tui/model/segments.ts';
import { orderTraces } from '../../../analyzer/src/tui/model/traces.ts';
import { press, settle } from '../../../analyzer/src/tui/press.ts';
import { queueColumns } from '../../../analyzer/src/tui/screen/queues.ts';
import { ROUTE_COLUMNS } from '../../../analyzer/src/tui/screen/routes.ts';
import { STEP_COLUMNS } from '../../../analyzer/src/tui/screen/steps.ts';
import { traceColumns } from '../../../analyzer/src/tui/screen/traces.ts';
import { ROOM_COLUMNS } from '../../../analyzer/src/tui/screen/verdict-chain.ts';
import { initialState, ROOT_VIEWS, type View } from '../../../analyzer/src/tui/state.ts';
import { COLOR, hotRowInput, Reader, sessionOf } from './support.ts';

const session = sessionOf(hotRowInput());

test('several keys in one read are all obeyed', () => {
  assert.deepEqual(keysOf('jjj', {}), ['j', 'j', 'j']);
  assert.deepEqual(keysOf('j\r', {}), ['j', 'enter']);
  assert.deepEqual(keysOf('', { downArrow: true }), ['down']);
  assert.deepEqual(keysOf('c', { ctrl: true }), []);
  assert.deepEqual(keysOf('5', { meta: true }), ['escape', '5']);
});

test('no key means two things in one view', () => {
  const views: View[] = [...ROOT_VIEWS, 'queue', 'trace', 'confidence', 'help'];
  for (const view of views) {
    const seen = new Set<string>();
    for (const binding of BINDINGS.filter((binding) => worksIn(binding, view))) {
      for (const key of binding.keys) {
        assert.ok(!seen.has(key), `${key} twice in ${view}`);
        seen.add(key);
      }
    }
  }
});

test('going away and coming back keeps the place', async () => {
  const reader = await new Reader(session).type('5', 'j', 'j', 'j', '3', '5');
  assert.equal(reader.state.stack.at(-1)?.selected, 3);
  await reader.type('enter', 'escape');
  assert.equal(reader.state.stack.at(-1)?.selected, 3);
});

test('sorting keeps the selected trace selected', async () => {
  const reader = await new Reader(session).type('5', 'j', 'j');
  const frame = reader.state.stack.at(-1)!;
  const chosen = orderTraces(session, '', frame.sort, frame.reverse).order[frame.selected];
  await reader.type('s');
  const after = reader.state.stack.at(-1)!;
  assert.equal(orderTraces(session, '', after.sort, after.reverse).order[after.selected], chosen);
});

test('the filter narrows by route, segment and free text, and says what it does not know', async () => {
  const { traces } = session;
  const only = (text: string): number[] => [...orderTraces(session, text, 0, false).order];
  for (const index of only('route:signup')) assert.match(traces.routes[traces.route[index]], /signup/);
  const slow = only('duration>100ms');
  assert.ok(slow.length > 0 && slow.every((index) => traces.durationNs[index] > 1e8));
  assert.equal(slow.length, traces.durationNs.filter((ns) => ns > 1e8).length);
  assert.ok(only('lock_wait>1ms').length > 0);
  assert.match(orderTraces(session, 'nosuch>1ms', 0, false).error, /no segment "nosuch"/);
  const id = traces.traceIds[5];
  assert.deepEqual(
    only(`trace:${id}`).map((index) => traces.traceIds[index]),
    [id],
  );
});

test('typing into a prompt types, Enter obeys, Esc leaves', async () => {
  const reader = await new Reader(session).type('5', '/', ...'lock>1ms', 'enter');
  assert.equal(reader.state.stack.at(-1)?.filter, 'lock>1ms');
  await reader.type('/', 'q', 'escape');
  assert.equal(reader.state.prompt, null);
  assert.deepEqual(reader.effects, []);
});

test('q quits, y copies what is selected, w asks for a prediction', async () => {
  const reader = await new Reader(session).type('5', 'y', '1', 'w', ...'capacity 2', 'enter', 'q');
  assert.deepEqual(
    reader.effects.map((effect) => effect.kind),
    ['copy', 'whatIf', 'quit'],
  );
  assert.deepEqual(reader.effects[1], { kind: 'whatIf', change: 'lock:campaign capacity 2' });
});

test('a prediction that cannot be asked for is refused on the spot, with what to write', async () => {
  const reader = await new Reader(session).type('w', ...'nonsense', 'enter');
  assert.match(reader.state.message, /not understood: write for example \S+ hold x0\.5/);
  await reader.type('w', ...'lock:nosuch hold x0.5', 'enter');
  assert.match(reader.state.message, /no queue is called 'lock:campaign lock:nosuch'/);
  assert.deepEqual(reader.effects, []);
});

test('of a long text that is typed the end stays in view', async () => {
  const reader = await new Reader(session, 80, 24).type('w', ...'x'.repeat(100), ...'capacity 20');
  assert.match(reader.lines().at(-1) ?? '', /capacity 20▏/);
});

test('folding hides children, unfolding brings them back, and leaving from the root goes back', async () => {
  const reader = await new Reader(session, 100, 60).type('5', 'enter', 'g');
  const before = reader.text();
  await reader.type('h');
  assert.notEqual(reader.text(), before);
  await reader.type('l');
  assert.equal(reader.text(), before);
  await reader.type('h', 'h');
  assert.equal(reader.state.stack.at(-1)?.view, 'traces');
});

test('the search finds lines of a text, goes on with n, and Esc ends it before it leaves', async () => {
  const reader = await new Reader(session, 100, 24).type('?', '/', ...'utilisation', 'enter');
  assert.match(reader.text(), /utilisation/);
  const first = reader.state.stack.at(-1)!.selected;
  await reader.type('n');
  assert.ok(reader.state.stack.at(-1)!.selected >= first);
  await reader.type('escape');
  assert.equal(reader.state.search, '');
  assert.equal(reader.state.stack.at(-1)?.view, 'help');
  await reader.type('escape');
  assert.equal(reader.state.stack.at(-1)?.view, 'verdict');
});

test('every segment stands in the glossary', () => {
  const terms = GLOSSARY.flatMap(({ entries }) => entries.map(([term]) => term));
  for (const segment of SEGMENTS) assert.ok(terms.includes(segmentText(segment)), segment);
});

test('every column of every table stands in the glossary', () => {
  const terms = new Set(GLOSSARY.flatMap(({ entries }) => entries.flatMap(([term]) => term.split(', '))));
  const titles = [
    ...[STEP_COLUMNS, ROUTE_COLUMNS, ROOM_COLUMNS, queueColumns(12)].flat(),
    ...[traceColumns(null, 10), traceColumns(null, 60)].flat(),
  ].map(({ title }) => title.trim());
  for (const title of [...titles, 'own', 'share', 'span', 'longest waits', 'held up by', 'mean per request'])
    assert.ok(terms.has(title) || terms.has(title.replace(/ wait$/, '')), title);
});

test('filtering keeps the selected trace selected while it is among those that are left', async () => {
  const reader = await new Reader(session).type('5', 'j', 'j', 'j');
  const selected = (): number => {
    const frame = reader.state.stack.at(-1)!;
    return orderTraces(session, frame.filter, frame.sort, frame.reverse).order[frame.selected];
  };
  const chosen = selected();
  await reader.type('/', ...'duration>1ms', 'enter');
  assert.equal(selected(), chosen);
  await reader.type('escape');
  assert.equal(reader.state.stack.at(-1)?.filter, '');
  assert.equal(selected(), chosen, 'and without the filter again');
});

test('a key that has to wait for data is obeyed when it has come', () => {
  const data = new Data(session, () => {});
  const list = undefined;
  const waiting = press(initialState(session), 'b', { data, list, copy: '', command: '' }).state;
  assert.equal(waiting.pending, 'blocker');
  assert.match(
    draw(waiting, data, 80, 24, COLOR)
      .lines.at(-1)!
      .map(([text]) => text)
      .join(''),
    /loading/,
  );
  assert.equal(press(waiting, 'j', { data, list, copy: '', command: '' }).state.pending, null);
});

test('Enter on a queue whose waits are still loading opens the first of them when they have come', async () => {
  const data = new Data(session, () => {});
  const context = { data, list: undefined, copy: '', command: '' };
  const queue = press(initialState(session), 'enter', context).state;
  const waiting = press(queue, 'enter', context).state;
  assert.equal(waiting.pending, 'open');
  await new Promise((resolve) => setImmediate(resolve));
  const opened = settle(waiting, data);
  assert.equal(opened.pending, null);
  assert.equal(opened.stack.at(-1)?.view, 'trace');
});
