/** Attack 95: names of files with secrets, and ordinary names that resemble them. */
import { describe, expect, test } from '@jest/globals';
import { credentialsAt, looksSecret, SECRET_FILES } from '../../src/workspace/secret-files.js';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const SECRET: Readonly<Record<string, readonly string[]>> = {
  variables: words('.env .env.local a/.env.production prod.env .envrc .env-prod .dev.vars'),
  packages: words(
    '.npmrc .pypirc .terraformrc terraform.rc credentials.tfrc.json .terraform.d/credentials.tfrc.json .bundle/config .m2/settings.xml ' +
      '.cargo/credentials .cargo/credentials.toml .gem/credentials auth.json .composer/auth.json .codex/auth.json settings-security.xml',
  ),
  credentials: words(
    'credentials credentials.json config/secrets.yml secrets.yaml secrets.prod.yaml client_secret.json .credentials.json ' +
      'service-account-prod.json service_account.json x-firebase-adminsdk-1a.json application_default_credentials.json',
  ),
  keys: words(
    'server.pem tls/KEY.KEY x.p12 x.pfx x.p8 a.ppk a.jks a.keystore a.kdbx id_rsa id_ed25519 id_ed25519_sk id_rsa_work .ssh/config ' +
      '.gnupg/trustdb.gpg wg0.conf etc/wireguard/wg12.conf office.ovpn .config/solana/id.json',
  ),
  clouds: words(
    'kubeconfig KUBECONFIG prod.kubeconfig kubeconfig.yaml .kube/config .dockercfg .docker/config.json .aws/credentials .azure/accessTokens.json ' +
      'accessTokens.json .config/gcloud/access_tokens.db .boto .s3cfg terraform.tfstate a/prod.tfstate prod.tfvars prod.tfvars.json .vault-token',
  ),
  accounts: words(
    '.netrc _netrc .git-credentials .config/gh/hosts.yml .pgpass pgpass.conf .my.cnf .mylogin.cnf .htpasswd .vscode/sftp.json .bash_history',
  ),
  copies: words(
    'id_rsa.bak id_ed25519.old id_rsa.1 id_rsa.2024 id_rsa~ .id_rsa.swp ..env.swp .env.bak server.pem.old credentials.json.bak ' +
      'terraform.tfstate.backup .kube/config.bak .netrc.orig kubeconfig-old .pgpass.save .docker/config.json_backup',
  ),
};
describe.each(Object.entries(SECRET))('95: %s', (_kind, paths) => {
  test.each(paths)('%s looks secret, in any directory and in any case', (path) => {
    expect(looksSecret(path)).toBe(true);
    expect(looksSecret(path.toUpperCase())).toBe(true);
    if (path !== 'auth.json') expect(looksSecret(`a/b.d/${path}`)).toBe(true);
  });
});

const OPEN: Readonly<Record<string, readonly string[]>> = {
  examples: words(
    '.env.example .env.sample a/.env.template .env.dist credentials.example.json kubeconfig.example terraform.tfvars.example',
  ),
  'public keys': words('id_rsa.pub id_ed25519.pub.old'),
  code: words(
    'credentials.ts src/secrets.rs environment.ts tokens.ts keys.ts id_rsa.ts id_rsa_reader.go src/secret-files.ts auth.ts kubeconfig.go netrc.py',
  ),
  texts: words('docs/secrets.md monkey credentials.md README.md'),
  settings: words(
    'config.json a/config tokens.json .npmignore .yarnrc.yml gradle.properties nuget.config pip.conf .git/config docker/config.json ' +
      'kube/config.yaml my.cnf settings.xml conf/settings.xml .azure-pipelines.yml .docker/daemon.json gcloud/app.yaml .secrets.baseline ' +
      'external-secrets.yaml wg.conf hosts.yml',
  ),
  // Words of a page, and fixtures. Tools read this name at the root of a project or in their own directory.
  'auth.json below the root': words('locales/en/auth.json test/fixtures/auth.json'),
};
describe.each(Object.entries(OPEN))('%s', (_kind, paths) => {
  test.each(paths)('%s is shown', (path) => {
    expect(looksSecret(path)).toBe(false);
  });
});

test('next to programs, files are hidden that are ordinary in a project, and certificates are not', () => {
  expect(credentialsAt('/opt/tool/gradle.properties')?.content).toBe('');
  expect(credentialsAt('/opt/php/Auth.json')?.content).toBe('{}\n');
  expect(credentialsAt('/opt/mvn/conf/settings.xml')?.content).toBe('<settings/>\n');
  expect(credentialsAt('/opt/rbenv/.git/config')).not.toBeNull();
  for (const path of ['/opt/tool/cert.pem', '/opt/tool/config', '/opt/tool/settings.xml'])
    expect(credentialsAt(path)).toBeNull();
});

test('a long name takes no longer than others', () => {
  const started = process.cpuUsage();
  for (const unit of ['.bak', '_1', '~', '/', '.', '*', 'id_rsa-', '.env'])
    looksSecret(unit.repeat(4_096 / unit.length));
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(500);
});

test('every row has a reason, and a place', () => {
  for (const { path, reason, places } of SECRET_FILES) {
    expect(path).toBe(path.toLowerCase());
    expect(reason).toMatch(/\.$/);
    expect(places).not.toEqual([]);
  }
});
