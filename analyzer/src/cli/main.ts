import { CliError, EXIT } from './errors.ts';
import { endWhenOutputFails } from './output.ts';
import { run } from './program.ts';

endWhenOutputFails();
try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof CliError) {
    process.stderr.write(`waitfall: ${error.message} [${error.code}]\n`);
    process.exitCode = error.exitCode;
  } else {
    const detail = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`waitfall: internal error, please report it\n${detail}\n`);
    process.exitCode = EXIT.internal;
  }
}
