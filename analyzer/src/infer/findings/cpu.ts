import { percent } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** The functions of one route that used the most CPU time, widest first. */
interface WideRoute {
  readonly route: string;
  /** Profiled work of the route, ns. */
  readonly workNs: number;
  readonly functions: readonly { readonly name: string; readonly share: number }[];
}

const NAMED = 2;
const LEAST_SHARE = 0.05;

/** What the CPU time of a route is spent in, where a profile says so on its `work` spans. */
export const widestFunctions: Finding<WideRoute> = {
  id: 'widest-functions',
  check({ processes, requests }) {
    const { profiles } = processes;
    const byRoute = new Map<number, { workNs: number; functions: Map<string, number> }>();
    for (let p = 0; p < profiles.length; p++) {
      const i = profiles.request[p];
      const lengthNs = profiles.lengthNs[p] * requests.weight[i];
      let route = byRoute.get(requests.route[i]);
      if (route === undefined) byRoute.set(requests.route[i], (route = { workNs: 0, functions: new Map() }));
      route.workNs += lengthNs;
      for (const text of profiles.functionsOf(p)) {
        const [share, ...name] = String(text).split(' ');
        const known = route.functions.get(name.join(' ')) ?? 0;
        route.functions.set(name.join(' '), known + Number(share) * lengthNs);
      }
    }
    return [...byRoute]
      .sort(([, a], [, b]) => b.workNs - a.workNs)
      .map(([route, { workNs, functions }]) => ({
        route: requests.routes[route],
        workNs,
        functions: [...functions]
          .map(([name, ns]) => ({ name, share: ns / workNs }))
          .filter(({ share }) => share >= LEAST_SHARE)
          .sort((a, b) => b.share - a.share)
          .slice(0, NAMED),
      }))
      .filter(({ functions }) => functions.length > 0);
  },
  format: ({ route, functions }) =>
    `CPU time of ${route}: ${functions.map(({ name, share }) => `${percent(share)} in ${name}`).join(', ')}`,
  summary: (count) => (count === 1 ? 'route with a CPU profile' : 'routes with a CPU profile'),
  values: ({ workNs, functions }) => ({
    workNs: Math.round(workNs),
    widest: functions[0].name,
    widestShare: functions[0].share,
  }),
};
