import { withLabels } from './labels.ts';
import { layOut } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { PLAIN, renderText, type TextStyle } from './text.ts';
import type { Report } from './types.ts';

/** @returns the report for people, 80 columns wide, without colours unless the style asks for them. */
export function textReport(report: Report, style: TextStyle = PLAIN): string {
  return renderText(layOut(withLabels(report)), style);
}

/** @returns the report as GitHub-flavoured Markdown. */
export function markdownReport(report: Report): string {
  return renderMarkdown(layOut(withLabels(report)));
}
