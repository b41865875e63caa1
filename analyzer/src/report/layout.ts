import type { Document } from './document.ts';
import { decompositionSections } from './sections/decomposition.ts';
import { headSection } from './sections/head.ts';
import { noTraceSections } from './sections/no-trace.ts';
import { repairSections } from './sections/repairs.ts';
import { firstQueueSection, headroomSection } from './sections/resources.ts';
import { routeSections } from './sections/routes.ts';
import { splitSections } from './sections/split.ts';
import { stepsSection } from './sections/steps.ts';
import { findingSections, judgementSections, whySection } from './sections/verdict.ts';
import type { Report } from './types.ts';

/** The order of a report for people: the answer, the load, why, where the time went, and what to distrust. */
export function layOut(report: Report): Document {
  if (report.input.requests === 0) return { sections: noTraceSections(report) };
  return {
    sections: [
      ...headSection(report),
      ...stepsSection(report),
      ...whySection(report),
      ...firstQueueSection(report),
      ...judgementSections(report),
      ...decompositionSections(report),
      ...headroomSection(report),
      ...findingSections(report),
      ...routeSections(report),
      ...splitSections(report),
      ...repairSections(report),
    ],
  };
}
