import { CliError } from './errors.ts';
import { endQuietlyOnClosedPipe } from './output.ts';
import { run } from './program.ts';

endQuietlyOnClosedPipe();
try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  process.stderr.write(`waitfall: ${error.message} [${error.code}]\n`);
  process.exitCode = error.exitCode;
}
