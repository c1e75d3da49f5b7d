/** Decides which variables of our environment a child process gets, and removes the values of secret ones from output that is kept. */
import { delimiter, isAbsolute, resolve } from 'node:path';
import { KnownValues } from './known-values.js';

const SECRET_CHARS = 6; // bound: Shorter values occur in ordinary output by chance. Hiding them would garble it.
const ORDINARY_CHARS = 12; // bound: A shorter word or number is a mode, a version or a port (`production`, `20.11.1`), not a secret.
const LINE_CHARS = 16; // bound: Characters of a line of a secret with several lines; a shorter line occurs in ordinary output.

export type Environment = Readonly<Record<string, string | undefined>>;

const SECRET_NAME =
  /^(ANTHROPIC_|AWS_.*KEY)|(^|_)(API_?KEY|TOKEN|AUTH_?TOKEN|PRIVATE_KEY|KEY_DATA|AUTH|PASS)$|_PWD$|AUTHTOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE/i;

/** Returns the defined variables with a wanted name. It filters the names first: reading a value of `process.env` leaves JavaScript. */
const definedOf = (
  env: Environment,
  isWanted: (name: string) => boolean,
): [name: string, value: string][] =>
  Object.getOwnPropertyNames(env)
    .filter(isWanted)
    .flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));

const TOOL_ROOTS =
  'NVM_DIR|VOLTA_HOME|PNPM_HOME|BUN_INSTALL|DENO_DIR|PYENV_ROOT|VIRTUAL_ENV|CONDA_PREFIX|RUSTUP_HOME|CARGO_HOME|GOROOT|GOPATH|GOCACHE|' +
  'GOMODCACHE|JAVA_HOME|MAVEN_HOME|GRADLE_HOME|GRADLE_USER_HOME|ANDROID_HOME|DOTNET_ROOT|RBENV_ROOT|GEM_HOME|ASDF_DIR|ASDF_DATA_DIR|MISE_DATA_DIR';
/**
 * Lists the variables that a child process gets, by its kind. It lists what may pass, as the names of all secrets are not known.
 * docs/configuration.md has the table, test/system/environment.test.ts each kind of child.
 */
const PASSED = {
  /** Every child. */
  any: new RegExp(`^(PATH|HOME|LANG|LC_\\w+|TERM|TZ|CI|TMPDIR|${TOOL_ROOTS})$`),
  /** Git: the places of its configuration. Other variables that a calling git set (we may run inside a hook) would lead to another repository or index. */
  git: /^(XDG_CONFIG_HOME|GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH|TEMPLATE_DIR|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM))$/,
  /** Git's configuration in variables: its values may hold a token. */
  gitSettings: /^GIT_CONFIG_(PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)$/,
  /** Programs that reach a remote or sign. */
  remote:
    /^(SSH_AUTH_SOCK|GIT_(SSH|HTTP_LOW_SPEED)\w*|GNUPGHOME|GPG_TTY|DBUS_\w+|\w+_PROXY|\w+_proxy|SSL_CERT_\w+)$/,
  gh: /^(GH_\w+|GITHUB_TOKEN|XDG_CONFIG_HOME)$/,
  pip: /^(PIP_\w+|XDG_CONFIG_HOME|XDG_CACHE_HOME|REQUESTS_CA_BUNDLE)$/,
  /** Git, which starts the pager and the editor at the terminal. */
  terminal: /^(GIT_(EDITOR|PAGER)|EDITOR|VISUAL|PAGER)$/,
} as const;
export type ChildKind = Exclude<keyof typeof PASSED, 'any'>;

/** Returns the part of `env` that a child process of these kinds gets. `names`: variables that `env:` lists in addition. */
export const childEnvironment = (
  env: Environment,
  kinds: readonly ChildKind[] = [],
  names: readonly string[] = [],
): Record<string, string> => {
  const passes = ['any' as const, ...kinds].map((kind) => PASSED[kind]);
  const isPassed = (name: string): boolean =>
    names.includes(name) || passes.some((pattern) => pattern.test(name));
  return Object.fromEntries(definedOf(env, isPassed));
};

/**
 * Returns the secret values, longest first: of secret-named variables, and of the variables `names` (`env:` of a job or of
 * `emend.yaml`), whatever they are called, unless they are easy to guess.
 */
export const secretValues = (
  env: Environment,
  names: readonly string[] = [],
): readonly string[] => {
  const byName = definedOf(env, (name) => SECRET_NAME.test(name)).map(([, value]) => value);
  const listed = definedOf(env, (name) => names.includes(name)).map(([, value]) => value);
  const all = [...byName, ...listed.filter((value) => !isOrdinary(value.trim()))];
  return [...new Set(all.flatMap(formsOf))].sort((a, b) => b.length - a.length);
};

const PATHS = /^(?:(?:~|\.{1,2})?(?:\/[\w .@-]+)+\/?(?::|$))+$/;
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^\s@?#]*$/i;
/** Returns whether a value is a short word or number, a list of paths, or an address without a user, a password or a query. */
const isOrdinary = (value: string): boolean =>
  (value.length < ORDINARY_CHARS && /^(?:[A-Za-z]+|[\d.,:_-]+)$/.test(value)) ||
  PATHS.test(value) ||
  ADDRESS.test(value);

/** Returns a value without its line end, and its long lines. */
const formsOf = (value: string): readonly string[] => {
  const whole = value.trim();
  if (whole.length < SECRET_CHARS) return [];
  const lines = whole.split(/[\r\n]+/);
  return [whole, ...(lines.length > 1 ? lines.filter((line) => line.length >= LINE_CHARS) : [])];
};

/** Returns the text with `[redacted]` for each of `secretValues`, in whatever notation. */
export const redact = (text: string, env: Environment, names: readonly string[] = []): string =>
  new KnownValues(secretValues(env, names)).hide(text, '[redacted]');

/** Returns the paths at which a program of this name may be, in the order of PATH. For the name '' these are the directories themselves. */
export const onPath = ({ PATH = '' }: Environment, name = ''): string[] =>
  PATH.split(delimiter).flatMap((dir) => (isAbsolute(dir) ? [resolve(dir, name)] : []));
