"""Words that a solver knows without being told: of Python, pytest, the shell, SQL, HTTP, and of common file formats.

Names that a task must state are not among them: an output's own keys and columns.
"""

_WORDS = """
true false null none nil yes no on off undefined nan inf
utf-8 utf8 ascii latin-1 latin1 iso-8859-1 cp1252 utf-16 utf-8-sig big little strict ignore replace backslashreplace
str int float bool bytes list dict tuple set object string integer number boolean array text binary
pytest test tests failures errors skipped testcase testsuite classname conftest param request stdout stderr stdin
returncode args kwargs self main __main__ __name__ __file__ __init__ __version__
path home user shell lang term pwd hostname localhost root agent nobody daemon wheel sudo
select insert update delete create table index view trigger from where values order group having join union distinct
count sum avg min max primary key unique pragma integrity_check ok real blob sqlite_master sqlite sqlite3 name sql
http https get post put patch head options host accept content-type content-length location etag authorization
user-agent cache-control connection keep-alive application/json text/html text/plain charset status body headers
json jsonl csv tsv yaml yml toml ini xml html txt md log gz tar tgz zip bz2 xz db sqlite py sh service timer conf cfg
main master HEAD origin commit tree blob tag branch refs refs/heads refs/tags
monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep oct nov dec
unit service timer install socket mount path description documentation after before requires wants wantedby requiredby
type oneshot simple forking notify exec execstart execstartpre execstartpost execstop execreload restart restartsec
always on-failure environment environmentfile workingdirectory user group oncalendar onbootsec onunitactivesec
persistent randomizeddelaysec accuracysec timers.target multi-user.target network.target default.target
project build-system dependencies optional-dependencies devdependencies scripts version license requires
requires-python build-backend tool packages repository author authors keywords
services image ports volumes networks environment depends_on command entrypoint healthcheck build context dockerfile
server listen server_name root location proxy_pass upstream access_log error_log
html head body title div span table thead tbody tr th td ul ol li h1 h2 h3 p a href src alt class id style script link
openapi info paths components schemas properties items required enum additionalproperties definitions $ref $schema
feature featurecollection geometry coordinates point polygon linestring
x86_64 amd64 arm64 aarch64 elf gzip png jpeg gif pdf linux debian ubuntu alpine python python3 bash node
"""
STANDARD = frozenset(word.lower() for word in _WORDS.split())
