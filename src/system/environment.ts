/** What a child process may see of our environment, and what must not stay in output that is kept. */

const SECRET_CHARS = 6; // bound: Shorter values stand in ordinary output by chance; blanking them would garble it.

export type Environment = Readonly<Record<string, string | undefined>>;

const SECRET_NAME =
  /^(ANTHROPIC_|AWS_.*KEY)|(^|_)(API_?KEY|TOKEN|AUTH_?TOKEN|PRIVATE_KEY|KEY_DATA|AUTH)$|AUTHTOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE/i;
/** Ours and Temporal's settings: they name servers and stores that a test has no business with. */
const OWN_NAME = /^(TEMPORAL_|EMEND_)/i;

/** What is set of it. */
export const definedOf = (env: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** The environment without our keys, settings and anything that is named like a secret. */
export function withoutSecrets(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !SECRET_NAME.test(name) && !OWN_NAME.test(name)) kept[name] = value;
  }
  return kept;
}

/** Of secret-named variables, longest first. */
export const secretValues = (env: Environment): readonly string[] =>
  Object.entries(env)
    .filter(([name, value]) => SECRET_NAME.test(name) && value !== undefined && value.length >= SECRET_CHARS)
    .map(([, value]) => value ?? '')
    .sort((a, b) => b.length - a.length);

/** `text` with the values of secret-named variables of `env` blanked. */
export const redact = (text: string, env: Environment): string =>
  secretValues(env).reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);

/** A path as one word of a shell, for what a person is told to type. */
export const shellWord = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
