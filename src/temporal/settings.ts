/**
 * Where the Temporal server is, in this order: Temporal's own configuration (TEMPORAL_* variables, then the profile of
 * temporal.toml: address, namespace, TLS, API key), the live dev server of EMEND_HOME, localhost:7233 where that is known to be ours
 * (connection.ts).
 */
import {
  loadClientConfigProfile,
  toClientOptions,
  type ClientConnectConfig,
} from '@temporalio/envconfig';
import { fail } from '../shared/problems.js';
import type { Environment } from '../system/environment.js';
import { alreadyRunning, liveRecord } from './dev-record.js';
import { TIMINGS, type LimitSpec, type TimingName, type Timings } from '../shared/limits.js';

export interface ServerSettings {
  readonly address: string;
  readonly namespace: string;
  /** Who said so, for messages: shown to people. */
  readonly from: 'configuration' | 'dev server' | 'default';
  /** What to type so that the configuration names no server; null: it names none. */
  readonly without: string | null;
  /** Base address of the Temporal UI; null where none is known. */
  readonly uiUrl: string | null;
  readonly connection: ClientConnectConfig['connectionOptions'];
}

const DEFAULT_ADDRESS = 'localhost:7233';
const CLOUD_UI = 'https://cloud.temporal.io';

/** Throws ProblemError `config_invalid` where a profile, the configuration file or a certificate cannot be read; `no_server` where the home's is starting. */
export const serverSettings = async (env: Environment, home: string): Promise<ServerSettings> => {
  const config = loadConfiguration(env);
  const live = await liveRecord(home);
  const dev = live?.state === 'serving' ? live : null;
  const configured = config.connectionOptions.address;
  // What answers at the usual port may be this very server, whose runs are this host's.
  if (configured === undefined && live?.state === 'starting')
    return fail('no_server', ...alreadyRunning(home, live));
  const address = configured ?? dev?.address ?? DEFAULT_ADDRESS;
  const isOwn = dev !== null && address.replace(/^localhost:/, '127.0.0.1:') === dev.address;
  const from = isOwn ? 'dev server' : configured === undefined ? 'default' : 'configuration';
  return {
    address,
    namespace: config.namespace ?? 'default',
    from,
    without: configured === undefined ? null : withoutConfiguration(env),
    uiUrl: env.EMEND_TEMPORAL_UI ?? (isOwn ? dev.uiUrl : isCloud(address) ? CLOUD_UI : null),
    // The dev server speaks neither TLS nor keys, and a key meant for another server stays away from it.
    connection: from === 'dev server' ? { address } : { ...config.connectionOptions, address },
  };
};

/** No file of that name is no error; `unset` would lead to the file at its usual place. */
const NO_FILE = 'unset TEMPORAL_PROFILE; export TEMPORAL_CONFIG_FILE=none';
const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';
const withoutConfiguration = ({ TEMPORAL_ADDRESS: address }: Environment): string =>
  isSet(address) ? 'unset TEMPORAL_ADDRESS' : NO_FILE;

const loadConfiguration = (env: Environment): ClientConnectConfig => {
  const given = Object.entries(env).filter((entry): entry is [string, string] => isSet(entry[1]));
  try {
    return toClientOptions(loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(given) }));
  } catch (error) {
    const file = env.TEMPORAL_CONFIG_FILE ?? 'temporal.toml';
    // A TOML error quotes the line it stumbled over, which may hold a key: only its first line is shown.
    const why = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
    return fail(
      'config_invalid',
      `Temporal's client configuration (${file}, TEMPORAL_* variables) is invalid: ${why}`,
      `Correct the file or variable, or ignore the file: ${NO_FILE}`,
    );
  }
};

const isCloud = (address: string): boolean =>
  /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);

// Settings of the machinery from the environment: `EMEND_<NAME>` in upper case for every name of TIMINGS.

export const timingVariable = (name: TimingName): string => `EMEND_${name.toUpperCase()}`;

/**
 * Every timing as a number, defaults included.
 * Throws ProblemError `config_invalid` for a value that is not a whole number within the name's bounds: a time-out that was
 * mistyped must not silently become the default.
 */
export const resolveTimings = (env: Environment): Timings => {
  const resolve = (name: TimingName): number => {
    const spec: LimitSpec = TIMINGS[name];
    const text = env[timingVariable(name)]?.trim();
    if (text === undefined || text === '') return spec.default ?? spec.max;
    const isWhole = Number.isInteger(spec.min);
    const value = (isWhole ? /^\d+$/ : /^\d+(?:\.\d+)?$/).test(text) ? Number(text) : Number.NaN;
    if (Number.isNaN(value) || value < spec.min || value > spec.max) {
      fail(
        'config_invalid',
        `${timingVariable(name)} (${spec.what}): expected a ${isWhole ? 'whole ' : ''}number from ${spec.min} to ${spec.max} (${spec.unit}), found "${text.slice(0, 40)}".`,
        `Correct ${timingVariable(name)} in the environment, or unset it to use ${String(spec.default)}.`,
      );
    }
    return value;
  };
  const names = Object.keys(TIMINGS) as TimingName[];
  return Object.fromEntries(names.map((name) => [name, resolve(name)])) as Timings;
};
