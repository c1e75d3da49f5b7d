/** Shows the machine's own programs, and of its settings those that programs need: by name, so that what is not known here is not there. */
import { accessSync, constants, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readGivenSync } from '../../system/given-file.js';
import { lookOrNull } from '../../system/paths.js';
import type { Mounts } from './mounts.js';

/** Programs and libraries; the packages of Nix and Guix. */
const PROGRAMS = ['/usr', '/bin', '/sbin', '/opt', '/nix', '/gnu', '/snap'];
const LIBRARIES = /^lib(?:32|64|x32|exec)?$/;

/** Names in /etc that a command sees. */
const SETTINGS: readonly string[] = [
  // Names of accounts, hosts and protocols.
  ...['passwd', 'group', 'nsswitch.conf', 'shells', 'hosts', 'hostname', 'host.conf', 'gai.conf'],
  ...['services', 'protocols', 'networks', 'rpc', 'ethertypes', 'netconfig'],
  // The dynamic linker, and which of several programs has a name.
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ld-musl-x86_64.path', 'alternatives'],
  // Which system it is; time and language.
  ...['os-release', 'lsb-release', 'debian_version', 'redhat-release', 'system-release'],
  ...['alpine-release', 'arch-release', 'SuSE-release', 'dpkg/origins', 'NIXOS'],
  ...['localtime', 'timezone', 'locale.alias', 'locale.conf', 'locale.gen', 'default/locale'],
  // Certificates of authorities, never keys: `ssl/private` and `pki/tls/private` are not here.
  ...['ssl/certs', 'ssl/cert.pem', 'ssl/openssl.cnf', 'ca-certificates', 'ca-certificates.conf'],
  ...['pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf', 'pki/ca-trust/extracted'],
  ...['pki/ca-trust/source', 'pki/java', 'crypto-policies', 'gnutls'],
  // Shells, terminals and types of files.
  ...['profile', 'bash.bashrc', 'bashrc', 'zsh', 'inputrc', 'terminfo', 'login.defs'],
  ...['mime.types', 'magic', 'magic.mime', 'mailcap', 'papersize', 'groff', 'sgml', 'xml'],
  // Languages and libraries that keep their settings here.
  ...['perl', 'php', 'ruby', 'R', 'julia', 'maven', 'gradle', 'ant', 'mono', 'dotnet', 'ghc'],
  ...['fonts', 'texmf', 'texlive', 'ImageMagick-6', 'ImageMagick-7', 'OpenCL', 'vulkan', 'glvnd'],
  ...['postgresql-common', 'chromium', 'chromium.d', 'gdb'],
];
/** More names in /etc, which end in a version. */
const VERSIONED_SETTINGS = /^(?:java|python|lua|erlang|php|llvm)[\d.-]/;

/** Data that programs in /usr keep elsewhere. */
const DATA = ['/var/lib/texmf', '/var/lib/ghc', '/var/cache/fontconfig', '/var/lib/perl'];

/** Git's settings for everybody here; left out if they may hold a token. */
const GIT_SETTINGS = '/etc/gitconfig';
const GIT_SETTINGS_BYTES = 1_048_576; // bound: Size of git's settings for everybody; larger ones are left out.
const MAY_HOLD_TOKEN = /:\/\/[^/\s]*@|extraheader|token|passw|askpass/i;

/** Files of the kernel about processors and memory. */
const HARDWARE = '/sys/devices/system';

export function showSystem(mounts: Mounts): void {
  mounts.show(HARDWARE);
  const atRoot = (lookOrNull(() => readdirSync('/')) ?? []).filter((name) => LIBRARIES.test(name));
  for (const path of [...PROGRAMS, ...atRoot.map((name) => join('/', name)), ...DATA])
    mounts.show(path);
  const versioned = (lookOrNull(() => readdirSync('/etc')) ?? []).filter((name) =>
    VERSIONED_SETTINGS.test(name),
  );
  for (const name of [...SETTINGS, ...versioned]) showSetting(mounts, join('/etc', name));
  const git = lookOrNull(() => readGivenSync(GIT_SETTINGS, GIT_SETTINGS_BYTES).toString('utf8'));
  if (git !== null && !MAY_HOLD_TOKEN.test(git)) showSetting(mounts, GIT_SETTINGS);
}

function showSetting(mounts: Mounts, path: string): void {
  const real = mounts.leadsTo(path);
  if (real === null || !isReadable(real)) return;
  mounts.copy(path);
  mounts.show(path);
}

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};
