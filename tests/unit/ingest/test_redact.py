import pytest

from symfonic.capabilities.memory.ingest.redact import names_secret, redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Authorization: Bearer abcdef0123456789abcd",
            "Authorization: Bearer [redacted: bearer token]",
        ),
        (
            "curl -u x -H 'authorization: basic dXNlcjpwYXNz'",
            "curl -u x -H 'authorization: basic [redacted: credentials]'",
        ),
        ("mysql -u root -phunter2 shop", "mysql -u root -p[redacted: password] shop"),
        ("mysqldump shop -h db -psecret", "mysqldump shop -h db -p[redacted: password]"),
        ("mariadb --password=abc -h db", "mariadb --password=[redacted: password] -h db"),
        ("The password is hunter2x, ok?", "The password is [redacted: password], ok?"),
        ("Passwort ist geheim99.", "Passwort ist [redacted: password]."),
        ("set the password to `Tr0ub4dor&3`!", "set the password to `[redacted: password]`!"),
        ("use sk-proj-Zz19xK27qqWWeeRRttYY00 today", "use [redacted: api key] today"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted: github token]"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "[redacted: github token]"),
        ("xoxb-1234567890-abcdefghij", "[redacted: slack token]"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id [redacted: aws key]."),
        ("password=hunter2hunter", "password=[redacted: secret]"),
        ('{"api_key": "k-778899aabb"}', '{"api_key": "[redacted: secret]"}'),
        ("DB_PASSWORD='tr0ub4dor'", "DB_PASSWORD='[redacted: secret]'"),
        ("redis://app:pa55word@cache:6379/0", "redis://app:[redacted: password]@cache:6379/0"),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ==\n-----END EC PRIVATE KEY-----\nthen",
            "[redacted: private key]\nthen",
        ),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
            "[redacted: jwt]",
        ),
        (
            "Authorization: Bearer qwertyuiopasdfghjklzxcvb",
            "Authorization: Bearer [redacted: bearer token]",
        ),
        (
            '{"Authorization": "token 9a8b7c6d5e4f"}',
            '{"Authorization": "token [redacted: bearer token]"}',
        ),
        (
            "curl -s --user 'ana:paprika' https://mill.example",
            "curl -s --user 'ana:[redacted: credentials]' https://mill.example",
        ),
        ("PGPASSWORD=gr1stmill psql", "PGPASSWORD=[redacted: secret] psql"),
        ("sshpass -p 'gristmill' ssh mill", "sshpass -p '[redacted: password]' ssh mill"),
        ("redis://:pa55word@cache:6379", "redis://:[redacted: password]@cache:6379"),
        ("MILL_TOKEN=0a1b2c3d4e5f6a7b8c9d", "MILL_TOKEN=[redacted: secret]"),
        ('{\\"token\\": \\"0a1b2c3d4e5f6a7b\\"}', '{\\"token\\": \\"[redacted: secret]\\"}'),
        ("PRIVATE-TOKEN: 0a1b2c3d4e", "PRIVATE-TOKEN: [redacted: secret]"),
        (
            "https://mill.example/x?api_key=grist0mill&page=2#top",
            "https://mill.example/x?api_key=[redacted: secret]&page=2#top",
        ),
        ("password: grist1", "password: [redacted: secret]"),
        ("Cookie: sid=0a1b2c3d4e5f6a7b8c9d; lang=de", "Cookie: sid=[redacted: secret]; lang=de"),
        ("AccountKey=QUJDREVGR0hJSktMTU5PUA==;Suffix", "AccountKey=[redacted: secret];Suffix"),
        ("whsec_abcdefghijklmnopqrstuvwx", "[redacted: api key]"),
        ("SG.abcdefghijklmnop.qrstuvwxyz012345", "[redacted: api key]"),
        ("ya29.a0Abcdefghijklmnopqrstuv", "[redacted: api key]"),
        ("hvs.CAESabcdefghijklmnopqr", "[redacted: api key]"),
        (f"dop_v1_{'0a1b' * 12}", "[redacted: api key]"),
        (f"bot 12345678:AA{'Bc3' * 11}", "bot [redacted: api key]"),
        (
            "https://hooks.slack.com/services/T0MILL000/B0MILL000/griststone",
            "https://hooks.slack.com/services/[redacted: api key]",
        ),
    ],
)
def test_a_known_secret_is_replaced_by_its_kind(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of this letter is my brother, who asks about the password.",
        "password: please reset it for Ana before 2026-05-01",
        "fixed in 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "run 6ba7b810-9dad-11d1-80b4-00c04fd430c8 took 15 s",
        "password = read_password()",
        "api_key=os.environ['SERVICE_KEY']",
        "pwd: /home/ana/project1",
        "risk-free-return-of-the-portfolio-in-2026-and-later",
        "a basic understanding of sk-learn and the secret santa of 2026",
        "https://example.com/a:b@c is odd, and http://host:8080/path too",
        "the token budget is max_tokens=4096",
        "the next_page_token=0a1b2c3d4e5f6a7b8c9d goes on",
        "docker run --user node:node mill, then curl https://mill.example/a:b",
        "authorization: token required, and a cookie: two spoons of sugar",
        "curl -u ana: asks for it, curl -u ana:$PASSWORD does not",
        "at 10:15 build 12345678:AAA was green",
        "the password is wrong, the password is required, and my password is not working",
        "the password was set to 8 characters, password is 2026-11-30, password is sha256-hashed",
        "mysql -u root -p shop, mysql -h db -P 3306, and mysql is a database with a -page flag",
    ],
)
def test_ordinary_text_is_returned_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_a_telling_name_makes_its_value_secret() -> None:
    assert names_secret("client_secret", "swordfish")
    assert names_secret("X-Api-Key", "k")
    assert names_secret("token", "a1b2c3d4e5f6a7b8c9")
    assert not names_secret("token", "short")
    assert not names_secret("page_token", "a1b2c3d4e5f6a7b8c9")
    assert not names_secret("password", "")
    assert not names_secret("passenger", "Ana Kovac")


@pytest.mark.parametrize(
    "part",
    [
        "sk-",
        "eyJ",
        "password=",
        "bearer ",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "xoxb-",
        "curl ",
        "curl -u a",
        "token=",
        "authorization: token ",
        "cookie: a=",
        "?secret=",
        ":AA",
    ],
)
def test_a_megabyte_of_beginnings_takes_no_quadratic_time(part: str) -> None:
    text = part * (1_000_000 // len(part))
    # A pattern that began again at every letter would not end while anybody waits for it.
    assert len(redact(text)) <= 2 * len(text)
