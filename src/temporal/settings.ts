/**
 * Where the Temporal server is, in this order: Temporal's own configuration (TEMPORAL_* variables, then the profile of
 * temporal.toml: address, namespace, TLS, API key), then the dev server that EMEND_HOME started (own-server.ts). There is no default address:
 * the server that listens at Temporal's usual port may belong to another user.
 */
import {
  loadClientConfigProfile,
  toClientOptions,
  type ClientConnectConfig,
} from '@temporalio/envconfig';
import { fail } from '../shared/problems.js';
import type { Environment } from '../system/environment.js';
import { readRecord, type DevServerRecord } from './dev-record.js';
import { ownServer, refusal } from './own-server.js';
import { pageLinks } from './page-record.js';
import { TIMINGS, type LimitSpec, type TimingName, type Timings } from '../shared/limits.js';

export interface ServerSettings {
  readonly address: string;
  readonly namespace: string;
  /** Who named it, for messages: shown to people. */
  readonly from: 'configuration' | 'dev server' | 'connection of this program';
  /** The record of the home's own dev server, if that is the server: its cluster id is still to be compared. */
  readonly own: DevServerRecord | null;
  /** What to type so that the configuration names no server; null: it names none. */
  readonly without: string | null;
  /** Base address of the Temporal UI; null where none is known. */
  readonly uiUrl: string | null;
  readonly connection: ClientConnectConfig['connectionOptions'];
}

const CLOUD_UI = 'https://cloud.temporal.io';

/**
 * Throws ProblemError `config_invalid` where a profile, the configuration file or a certificate cannot be read; `no_server` where no server is
 * configured and the home's own is absent, still starting, or not the one that listens at its address.
 */
export const serverSettings = async (env: Environment, home: string): Promise<ServerSettings> => {
  const config = loadConfiguration(env);
  const configured = addressOf(config);
  const server =
    configured === undefined || numeric(configured) === (await readRecord(home))?.address
      ? await ownServer(home)
      : null;
  const own = server?.is === 'serving' ? server.record : null;
  if (configured === undefined && server !== null && server.is !== 'serving')
    return fail('no_server', ...(await refusal(home, server)));
  // `localhost` may also be ::1, where somebody else can listen at the same port.
  const address = own?.address ?? configured ?? '';
  return {
    address,
    namespace: config.namespace ?? 'default',
    from: own === null ? 'configuration' : 'dev server',
    own,
    without: configured === undefined ? null : withoutConfiguration(env),
    uiUrl: await uiOf(env, home, address, own),
    // The dev server speaks neither TLS nor keys, and a key meant for another server stays away from it.
    connection: own === null ? { ...config.connectionOptions, address } : { address },
  };
};

/** A server that the environment names, and what to type so that it does not; null: it names none. Throws ProblemError `config_invalid`. */
export const configuredServer = (
  env: Environment,
): { readonly address: string; readonly without: string } | null => {
  const address = addressOf(loadConfiguration(env));
  return address === undefined ? null : { address, without: withoutConfiguration(env) };
};

/** A profile may name everything but an address, or an empty one. */
const addressOf = ({ connectionOptions }: ClientConnectConfig): string | undefined =>
  isSet(connectionOptions.address) ? connectionOptions.address : undefined;
const numeric = (address: string): string => address.replace(/^localhost:/, '127.0.0.1:');

const uiOf = async (
  env: Environment,
  home: string,
  address: string,
  own: DevServerRecord | null,
): Promise<string | null> => {
  if (env.EMEND_TEMPORAL_UI !== undefined) return env.EMEND_TEMPORAL_UI;
  if (own !== null) return (await pageLinks(home, own.owner)).uiUrl;
  return isCloud(address) ? CLOUD_UI : null;
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
