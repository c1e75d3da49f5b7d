/** An exam as a command. Exit codes: what `run` resolves with; 0 where `read` gives null (help was asked for); 2 where either throws, with the usage where the options are wrong. */
export const asCommand = async <T>(
  usage: string,
  read: () => T | null,
  run: (options: T) => Promise<number>,
): Promise<void> => {
  const failed = (error: unknown, more: string): void => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${more}`);
    process.exitCode = 2;
  };
  let options;
  try {
    options = read();
  } catch (error) {
    failed(error, `\n${usage}\n`);
    return;
  }
  if (options === null) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  try {
    process.exitCode = await run(options);
  } catch (error) {
    failed(error, '');
  }
};
