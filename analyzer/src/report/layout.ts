import type { Document } from './document.ts';
import { decompositionSections } from './sections/decomposition.ts';
import { headSection } from './sections/head.ts';
import { noTraceSections } from './sections/no-trace.ts';
import { repairSections } from './sections/repairs.ts';
import { resourceSections } from './sections/resources.ts';
import { routeSections } from './sections/routes.ts';
import { splitSections } from './sections/split.ts';
import { stepsSection } from './sections/steps.ts';
import { verdictSections } from './sections/verdict.ts';
import type { Report } from './types.ts';

/** The order of a report for people: the answer, the load, where the time went, why, and what to distrust. */
export function layOut(report: Report): Document {
  if (report.input.requests === 0) return { sections: noTraceSections(report) };
  return {
    sections: [
      ...headSection(report),
      ...stepsSection(report),
      ...decompositionSections(report),
      ...verdictSections(report),
      ...resourceSections(report),
      ...routeSections(report),
      ...splitSections(report),
      ...repairSections(report),
    ],
  };
}
