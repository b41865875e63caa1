import type { Context, Screenful } from '../context.ts';
import { bar } from '../draw/bar.ts';
import { wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { progressText, shareRead } from '../model/progress.ts';
import { clean, cutMiddle } from '../width.ts';

/** In place of a view that is not known yet: how far the analysis has come, and what can be looked at already. */
export function progressScreen({ session, columns }: Context): Screenful {
  const { stage, progress } = session;
  const heading: Line = [[` ${cutMiddle(clean(session.title), 40)}`, BOLD]];
  if (!progress) return { heading, lines: [] };
  const share = shareRead(progress);
  const reading = progress.phase === 'reading';
  const cells = Math.min(60, columns - 24);
  const lines: Line[] = [
    [['']],
    step('read', reading ? 'now' : 'done', progressText(progress)),
    ...(reading && share !== null ? [[['           '], [bar(share, cells), { fg: 'ok' }]] as Line] : []),
    step(
      'cut up',
      stage === 'requests' ? 'done' : reading ? 'then' : 'now',
      'trees, who owns which time, requests',
    ),
    step('queues', stage === 'requests' ? 'now' : 'then', 'steps, resources, which queue filled first'),
    [['']],
    ...wrap(
      stage === 'requests'
        ? 'Traces (5), routes (4) and input (6) are there; a trace opens when the queues are done.'
        : 'Traces, routes and input come as soon as the requests are cut up, the verdict last.',
      columns - 4,
    ).map((text): Line => [[`   ${text}`, DIM]]),
  ];
  return { heading, lines };
}

function step(title: string, when: 'done' | 'now' | 'then', text: string): Line {
  const mark = when === 'done' ? '█' : when === 'now' ? '▸' : '·';
  const style = when === 'now' ? BOLD : when === 'then' ? DIM : undefined;
  return [
    [`   ${mark} ${title.padEnd(7)}`, style],
    [` ${text}`, when === 'then' ? DIM : undefined],
  ];
}
