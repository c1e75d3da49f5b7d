/**
 * Lists the files that hold keys and passwords, by their names. Prompts and agents get none of them unless you name it, and a sandbox
 * hides them next to programs. A name is compared in lower case, as file systems may ignore case.
 */
import { literally } from '../shared/text.js';

/** Where a name means a file with secrets: `workspace` for prompts and agents, `tools` next to the programs that a sandbox shows. */
type Place = 'workspace' | 'tools';

export interface SecretFile {
  /**
   * End of a path, lower case. `*` is a part of a name, `{a,b}` is `a` or `b`. `/` at the end is a directory with all of its files, `/` at the
   * beginning is the root.
   */
  readonly path: string;
  readonly reason: string;
  /** Content that a program reads instead in a sandbox. Its parser must accept it. */
  readonly content: string;
  readonly places: readonly Place[];
}

const row =
  (...places: Place[]) =>
  (path: string, reason: string, content = ''): SecretFile => ({ path, reason, content, places });
const inBoth = row('workspace', 'tools');
const inWorkspaces = row('workspace');
const nextToTools = row('tools');

/** Packages and registries of programming languages. */
const PACKAGES = [
  inBoth('.npmrc', 'npm and pnpm write tokens of registries here.'),
  inBoth('.pypirc', 'twine and flit keep tokens for uploads here.'),
  inBoth('credentials.tfrc.json', 'Terraform keeps tokens here.'),
  inBoth('{.terraformrc,terraform.rc}', 'Terraform reads tokens of registries from it.'),
  inBoth('.bundle/config', 'Bundler keeps passwords of sources here.'),
  inBoth('.m2/settings.xml', 'Maven reads passwords of servers from it.', '<settings/>\n'),
  inBoth('settings-security.xml', 'Maven keeps its master password here.', '<settingsSecurity/>\n'),
  // Of a project these are ordinary files. A token in them is recognized by its line.
  nextToTools('npmrc', 'npm reads tokens of registries from the file of its installation.'),
  nextToTools('.yarnrc', 'Yarn 1 reads tokens of registries from it.'),
  nextToTools('.yarnrc.yml', 'Yarn keeps `npmAuthToken` here.'),
  nextToTools('bunfig.toml', 'Bun reads tokens of registries from it.'),
  nextToTools('pip.conf', 'pip reads addresses of indexes with their passwords from it.'),
  nextToTools('{.condarc,condarc}', 'conda reads addresses of channels with their tokens from it.'),
  nextToTools('{.gemrc,gemrc}', 'RubyGems reads addresses with their passwords from it.'),
  nextToTools('gradle.properties', 'Gradle reads passwords of repositories from it.'),
  nextToTools('conf/settings.xml', 'Maven reads passwords of servers from it.', '<settings/>\n'),
  nextToTools('nuget.config', 'NuGet reads passwords of feeds from it.', '<configuration/>\n'),
  nextToTools('.git/config', 'The address of a remote may have a password.'),
  nextToTools('.sdkman/etc', 'SDKMAN! keeps its settings here.'),
  nextToTools('auth.toml', 'Poetry keeps passwords of repositories here.'),
  nextToTools('auth.json', 'Composer and agents keep tokens here.', '{}\n'),
  // `locales/en/auth.json` has the words of a page, so below the root only directories of tools count.
  inWorkspaces('/auth.json', 'Composer reads tokens from it next to `composer.json`.'),
  inWorkspaces(
    '{.composer,.config/composer,.codex,.config/containers}/auth.json',
    'Tools keep tokens here.',
  ),
];

/** Files of any tool that keep tokens under a common name. As data, not as code: `credentials.ts` is a module, `credentials.json` is not. */
const CREDENTIALS = [
  inBoth('{credentials,credentials.toml,credentials.json}', 'Many tools keep tokens here.'),
  inWorkspaces(
    '{,.,client_,client-}{credential,credentials,secret,secrets}{,.prod,.production,.staging,.stage,.dev,.development,.local,.test}' +
      '{,.json,.yaml,.yml,.toml,.ini,.cfg,.conf,.xml,.properties,.txt,.csv,.enc,.gpg}',
    'Its name is that of credentials.',
  ),
  inWorkspaces('{service-account,service_account,serviceaccount}*.json', 'The key of an account.'),
  inWorkspaces('*-firebase-adminsdk-*.json', 'The key of an account for Firebase.'),
  inWorkspaces('{application_default_credentials,oauth_creds,accesstokens}.json', 'Tokens.'),
  inWorkspaces('msal_token_cache.*', 'Tokens for Azure.'),
  inWorkspaces('.env{,rc,.*,-*,_*}', 'Variables of a program, with its passwords.'),
  inWorkspaces('*.env', 'Variables of a program, with its passwords.'),
  inWorkspaces('.dev.vars{,.*}', 'Wrangler reads secrets of a worker from it.'),
];

/** Keys, and what stores them. */
const KEYS = [
  inWorkspaces('*.{pem,key,p8,p12,pfx,pkcs12,ppk}', 'A private key.'),
  inWorkspaces('*.{jks,bks,keystore,keychain,kdb,kdbx,psafe3,agilekeychain}', 'A store of keys.'),
  inWorkspaces('id_{rsa,dsa,ecdsa,ed25519}{,_sk}{,-*,_*,.*}', 'A private key of SSH.'),
  inWorkspaces('{secring.*,.gnupg/,.password-store/}', 'Keys and passwords of GnuPG.'),
  inWorkspaces('{.ssh/,.putty/sessions/}', 'Keys of SSH.'),
  inWorkspaces('sops/age/keys.txt', 'A private key of age.'),
  inWorkspaces('wg{0,1,2,3,4,5,6,7,8,9,-}*.conf', 'WireGuard reads a private key from it.'),
  inWorkspaces('*.ovpn', 'OpenVPN reads keys and passwords from it.'),
  inWorkspaces('{wallet.dat,.config/solana/id.json}', 'The keys of a wallet.'),
];

/** Clouds, clusters and infrastructure. */
const CLOUDS = [
  inWorkspaces('*.tfstate', 'The state of Terraform has every password.'),
  inWorkspaces('*.tfvars{,.json}', 'Variables of Terraform.'),
  inWorkspaces('{.aws/,.azure/,.config/gcloud/,.gcloud/,.oci/}', 'Tokens of a cloud.'),
  inWorkspaces('{.boto,.s3cfg,.passwd-s3fs,.databrickscfg,.tugboat}', 'Keys of a cloud.'),
  inWorkspaces('{.config/doctl,doctl}/config.yaml', 'A token for DigitalOcean.'),
  inWorkspaces(
    '{kubeconfig,*.kubeconfig,kubeconfig.{yaml,yml,json,conf},.kube/config}',
    'Keys of a cluster.',
  ),
  inWorkspaces(
    '{.dockercfg,.dockerconfigjson,.docker/config.json,.docker/config}',
    'Passwords of registries.',
  ),
  inWorkspaces(
    '{.vault-token,.vault_pass,.vault_pass.txt,.vault_password}',
    'A token or password of a vault.',
  ),
  inWorkspaces('kaggle.json', 'A token for Kaggle.'),
  inWorkspaces('{.huggingface,huggingface}/token', 'A token for Hugging Face.'),
  inWorkspaces('{rclone.conf,.ngrok2/ngrok.yml,.sentryclirc}', 'Tokens of tools.'),
];

/** Servers, databases and sessions. */
const ACCOUNTS = [
  inBoth('{.netrc,_netrc}', 'curl, git, pip and Go read passwords from it.'),
  inBoth('.git-credentials', 'git keeps passwords here.'),
  inWorkspaces('.gitcookies', 'git reads tokens of sites from it.'),
  inWorkspaces('{.config/gh,github cli}/hosts.yml', 'A token for GitHub.'),
  inWorkspaces(
    '{.config/hub,.config/github-copilot/hosts.json,.config/github-copilot/apps.json}',
    'A token for GitHub.',
  ),
  inWorkspaces('{.pgpass,pgpass.conf}', 'Passwords of PostgreSQL.'),
  inWorkspaces('{.my.cnf,.mylogin.cnf}', 'Passwords of MySQL.'),
  inWorkspaces(
    '{.dbeaver-data-sources.xml,dbeaver-data-sources.xml,robomongo.json}',
    'Passwords of databases.',
  ),
  inWorkspaces('{.htpasswd,htpasswd,proftpdpasswd}', 'Hashes of passwords.'),
  inWorkspaces(
    '{.ftpconfig,.remote-sync.json,sftp-config.json,.vscode/sftp.json}',
    'Passwords of servers.',
  ),
  inWorkspaces('{filezilla,recentservers,sitemanager}.xml', 'Passwords of servers.'),
  inWorkspaces(
    '{.msmtprc,.esmtprc,.fetchmailrc,.authinfo,.subversion/auth/}',
    'Passwords of servers.',
  ),
  inWorkspaces(
    '{.erlang.cookie,.mozilla/firefox/logins.json}',
    'The key of a session, or stored passwords.',
  ),
  inWorkspaces(
    '.{bash,zsh,sh,mysql,psql,sqlite,python,irb,node_repl,rediscli}_history',
    'Commands that were typed, with their secrets.',
  ),
];

export const SECRET_FILES: readonly SecretFile[] = [
  ...PACKAGES,
  ...CREDENTIALS,
  ...KEYS,
  ...CLOUDS,
  ...ACCOUNTS,
];

/** Examples, public keys, and code that works with keys. */
const OPEN_NAMES =
  /(?:^|[._-])(?:example|sample|template|dist|(?<!application_)defaults?)(?:[._-]|$)|\.pub$|^id_.*\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|cs|c|h|cc|cpp|md|rst|html?|snap)$/;

/** Endings that editors and people append to the name of a copy. */
const COPY_ENDING =
  /(?:[._-](?:bak|backup|old|orig|original|save|saved|copy|prev|tmp|\d{1,14}))+$|~$/;
const SWAP_FILE = /(^|\/)\.([^/]+)\.sw[a-p]$/;

const patternOf = (path: string): string => {
  const atRoot = path.startsWith('/');
  const source = literally(atRoot ? path.slice(1) : path)
    .replaceAll(String.raw`\*`, '[^/]*')
    .replaceAll(String.raw`\{`, '(?:')
    .replaceAll(String.raw`\}`, ')')
    .replaceAll(',', '|')
    .replaceAll(String.raw`\/`, '/');
  return atRoot ? `^${source}` : source;
};

/** Returns a rule that finds any of the files of a place at the end of a path in lower case. */
const ruleOf = (place: Place, files: readonly SecretFile[]): RegExp => {
  const sources = files
    .filter(({ places }) => places.includes(place))
    .map(({ path }) => patternOf(path));
  // Behind a name the path ends. Behind a directory there may be more.
  return new RegExp(`(?:^|/)(?:${sources.join('|')})(?:$|(?<=/).)`);
};
const RULES: Readonly<Record<Place, RegExp>> = {
  workspace: ruleOf('workspace', SECRET_FILES),
  tools: ruleOf('tools', SECRET_FILES),
};

/** Returns a path in lower case, without the endings that a copy of a file has. */
const originalOf = (path: string): string =>
  path.toLowerCase().replace(SWAP_FILE, '$1$2').replace(COPY_ENDING, '');

/** Reports whether a file of the workspace has the name of a file with secrets. `path` is relative and `/`-separated. */
export function looksSecret(path: string): boolean {
  const original = originalOf(path);
  const name = original.slice(original.lastIndexOf('/') + 1);
  return !OPEN_NAMES.test(name) && RULES.workspace.test(original);
}

/** Returns the row of a file or directory next to the programs that a sandbox shows; null: it may be shown. */
export function credentialsAt(path: string): SecretFile | null {
  const lower = path.toLowerCase();
  if (!RULES.tools.test(lower)) return null;
  return SECRET_FILES.find((file) => ruleOf('tools', [file]).test(lower)) ?? null;
}
