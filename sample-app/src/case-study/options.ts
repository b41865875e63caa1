import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UsageError } from '../run/command.ts';
import { workingDirectory } from '../run/working-directory.ts';
import { VARIANT_NAMES, type VariantName, variantNamed } from '../service/variants.ts';

export interface CaseStudyOptions {
  readonly variants: readonly VariantName[];
  readonly manifestPath: string;
  readonly quick: boolean;
  readonly registrations: number;
  readonly stock: number;
  /** Size of the eligibility rules, KiB; null: what this machine parses in a fixed time. */
  readonly rulesKiB: number | null;
  /** How often everything is run. */
  readonly repeat: number;
  /** One rate for long instead of rising steps. */
  readonly soak: { readonly minutes: number; readonly arrivalsPerSecond: number } | null;
  /** Folder that the run directories are made in. */
  readonly runs: string;
}

/** The result queries of the case study's own loads ask for registrations 1 to this. */
const ASKED_FOR = 100_000;

export const HELP = `usage: npm run case-study -- [options]

  --quick             the short form, under 90 seconds
  --variants LIST     names separated by commas, or "all": ${VARIANT_NAMES.join(', ')}
                      (default: before,after)
  --repeat N          run everything N times and report how far the runs lie apart
  --soak MINUTES      one rate for long, to see whether anything drifts (default variant: after)
  --rate R            that rate, requests per second (default 40)
  --manifest FILE     another load than that of the case study
  --registrations N   registrations in the table before the load (default ${ASKED_FOR})
  --stock N           stock of each campaign (default 1000000)
  --rules KIB         size of the eligibility rules that a sign-up parses (default: what takes 3.5 ms here)
  --out DIR           where the run directories are made (default: runs)
  --help              this text

DATABASE_URL: an existing PostgreSQL server to use instead of one of our own, in schemas that are dropped at the end.
`;

/** @returns the options of the command line, or null when only the help was asked for. */
export function readOptions(args: readonly string[]): CaseStudyOptions | null {
  const { values } = parse(args);
  if (values.help) return null;
  const quick = values.quick ?? false;
  const manifest = quick ? 'quick.yaml' : 'case-study.yaml';
  return {
    quick,
    variants: variantsOf(values.variants ?? (values.soak ? 'after' : 'before,after')),
    repeat: wholeNumber('--repeat', values.repeat ?? '1'),
    soak: values.soak
      ? {
          minutes: positiveNumber('--soak', values.soak),
          arrivalsPerSecond: positiveNumber('--rate', values.rate ?? '40'),
        }
      : null,
    manifestPath: values.manifest
      ? resolve(workingDirectory, values.manifest)
      : fileURLToPath(new URL(`../../manifests/${manifest}`, import.meta.url)),
    registrations: registrationsOf(values.registrations ?? String(ASKED_FOR), values.manifest !== undefined),
    stock: wholeNumber('--stock', values.stock ?? '1000000'),
    rulesKiB: values.rules === undefined ? null : positiveNumber('--rules', values.rules),
    runs: values.out ?? 'runs',
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        variants: { type: 'string' },
        repeat: { type: 'string' },
        soak: { type: 'string' },
        rate: { type: 'string' },
        manifest: { type: 'string' },
        registrations: { type: 'string' },
        stock: { type: 'string' },
        rules: { type: 'string' },
        out: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function variantsOf(list: string): VariantName[] {
  if (list === 'all') return VARIANT_NAMES;
  return list.split(',').map((name) => {
    try {
      variantNamed(name.trim());
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
    return name.trim() as VariantName;
  });
}

function registrationsOf(text: string, ownManifest: boolean): number {
  const registrations = wholeNumber('--registrations', text);
  if (!ownManifest && registrations < ASKED_FOR) {
    throw new UsageError(
      `--registrations wants at least ${ASKED_FOR}: the result queries of the case study's load ask for them`,
    );
  }
  return registrations;
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new UsageError(`${option} wants a whole number, not "${text}"`);
  return value;
}

function positiveNumber(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`${option} wants a number above 0, not "${text}"`);
  return value;
}
