/** Where the user stands: npm changes to the folder of the package. */
export const workingDirectory = process.env['INIT_CWD'] ?? process.cwd();
