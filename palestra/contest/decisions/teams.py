"""What becomes of accounts and teams: decisions from the state to events."""

import hashlib
import unicodedata

from palestra.contest.log import Account, State, Team
from palestra.contest.log import events as e
from palestra.contest.rules import Role, Rules, require_reason, told
from palestra.errors import Told, clean, clip
from palestra.text import Words

LONGEST_NAME = 64
RESERVED = ("system", "worker", "nobody", "baseline")
NAMES_OF = {"account": "账号", "team": "队伍"}  # what has a name, in Chinese
ROLES: dict[Role, str] = {"organiser": "主办方", "referee": "裁判", "member": "参赛者", "viewer": "观众"}
_BLANKS = dict.fromkeys(
    map(ord, "\u115f\u1160\u3164\uffa0\u2800"), " "
)  # letters by their class, and yet nothing to see


def require_name(text: str, what: str) -> str:
    """A name that people give to something: one line, printable, not too long, not the system's."""
    name = require_line(text, Words(f"the name of the {what}", f"{NAMES_OF[what]}名称"))
    if folded(name.split(":")[0]).strip() in RESERVED:
        raise Told(
            f"{name!r} is kept for the system. Choose another name for the {what}.",
            f"名称“{name}”为系统保留，请为{NAMES_OF[what]}另取名称。",
        )
    return name


def require_line(text: str, what: Words) -> str:
    """One line that can be printed, and that is not too long."""
    line = unicodedata.normalize("NFC", clean(text.translate(_BLANKS)))
    if not line:
        raise Told(
            f"Nothing that can be read was given as {what.en}; expected 1 to {LONGEST_NAME} characters.",
            f"{what.zh}没有可读的内容；应为 1 至 {LONGEST_NAME} 个字符。",
        )
    if len(line) > LONGEST_NAME:
        raise Told(
            f"{clip(line, 20)} is too long as {what.en}; expected at most {LONGEST_NAME} characters.",
            f"{clip(line, 20)} 作为{what.zh}过长；最多 {LONGEST_NAME} 个字符。",
        )
    return line


def folded(name: str) -> str:
    """What two names have in common that people take for the same: capitals, and letters of another width."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def make_account(state: State, account: str, name: str, role: Role, email: str = "") -> list[e.Body]:
    name = require_name(name, "account")
    if folded(name) in map(folded, state.names):
        raise Told(
            f"There is an account {name!r} already. Sign in with it, or choose another name.",
            f"用户名“{name}”已存在。请直接登录，或换一个用户名。",
        )
    return [e.AccountMade(account, name, role, clean(email)[:200])]


def change_role(state: State, account: str, role: Role, reason: str) -> list[e.Body]:
    one = _account(state, account)
    if role != "organiser":
        _require_other_organiser(state, account)
    if role != "member" and one.team:
        raise Told(
            f"{one.name} is in a team, and nobody judges their own: they leave it first.",
            f"{one.name} 是参赛队员，不能评判自己参加的比赛：请先退出队伍。",
        )
    return [e.RoleChanged(account, role, require_reason(reason))]


def close_account(state: State, account: str, reason: str) -> list[e.Body]:
    one = _account(state, account)
    _require_other_organiser(state, account)
    return [e.AccountClosed(one.id, require_reason(reason))]


def _require_other_organiser(state: State, account: str) -> None:
    organisers = [one.id for one in state.accounts.values() if one.role == "organiser" and not one.closed]
    if organisers == [account]:
        raise Told("This is the only organiser. Make another one first.", "这是唯一的主办方账号。请先另设一个。")


def make_team(state: State, now: int, team: str, name: str, captain: str, declared: bool) -> list[e.Body]:
    """A new team. Its captain declares, where the rules ask for it, that it is independent of all others."""
    rules = state.rules(now)
    _require_registration(rules, now)
    name = require_name(name, "team")
    account = _account(state, captain)
    _require_free(account)
    _require_other_name(state, name)
    text = rules.declaration
    if (text.en or text.zh) and not declared:
        raise Told(
            "A team takes part once its captain has accepted the declaration of independence.",
            "队长接受独立完成声明后，队伍才能参赛。",
        )
    return [e.TeamMade(team, name, captain, digest_of(text.en + text.zh) if declared else "")]


def accept_declaration(state: State, now: int, team: str, accepted: str, by: str) -> list[e.Body]:
    """A team accepts a declaration that was changed since it was made, by the digest of the text that was read. Until
    then it takes part with the one it accepted: a changed word must not shut a team out in the middle of a phase."""
    one = _require_captain(state, team, by)
    wanted = declaration_digest(state.rules(now).declaration)
    if not wanted:
        raise Told("The rules ask for no declaration.", "规则没有要求作出声明。")
    if one.declared == wanted:
        raise Told("Your team has accepted this declaration already.", "您的队伍已接受该声明。")
    if accepted != wanted:
        raise Told(
            "The declaration of independence is another one by now. Read it again before you accept it.",
            "独立完成声明已有更改。请重新阅读后再接受。",
        )
    return [e.DeclarationAccepted(team, wanted)]


def declaration_digest(text: Words) -> str:
    """By what a declaration is accepted; empty where none is asked."""
    return digest_of(text.en + text.zh) if text.en or text.zh else ""


def rename_team(state: State, now: int, team: str, name: str, by: str) -> list[e.Body]:
    """Boards of earlier times show a team by the name it has now."""
    _require_captain(state, team, by)
    if _has_submitted(state, team) and not _is_organiser(state, by):
        raise Told(
            "A team that has submitted keeps its name; ask the organiser.", "已有提交的队伍不能自行改名，请联系主办方。"
        )
    name = require_name(name, "team")
    _require_other_name(state, name, but=team)
    return [e.TeamRenamed(team, name)]


def invite(state: State, now: int, team: str, invitation: str, by: str) -> list[e.Body]:
    """An invitation by its secret; only the digest of that is kept."""
    one = _require_captain(state, team, by)
    rules = state.rules(now)
    _require_registration(rules, now)
    if len(one.members) + len(one.invitations) >= rules.team_limit:
        raise Told(
            f"A team has at most {rules.team_limit} members, open invitations among them.",
            f"每队最多 {rules.team_limit} 人，尚未使用的邀请也计算在内。",
        )
    return [e.MemberInvited(team, digest_of(invitation))]


def withdraw_invitation(state: State, team: str, digest: str, by: str) -> list[e.Body]:
    """By the digest of its secret, which is all that is known of it."""
    if digest not in _require_captain(state, team, by).invitations:
        raise Told("There is no such open invitation.", "没有这样一个尚未使用的邀请。")
    return [e.InvitationWithdrawn(team, digest)]


def join(state: State, now: int, invitation: str, account: str) -> list[e.Body]:
    rules = state.rules(now)
    _require_registration(rules, now)
    _require_free(_account(state, account))
    digest = digest_of(invitation)
    team = next((team for team in state.teams.values() if team.members and digest in team.invitations), None)
    if team is None:
        raise Told(
            "This invitation is not valid, or was used. Ask the team's captain for another one.",
            "邀请无效或已被使用。请向队长索取新的邀请。",
        )
    if len(team.members) >= rules.team_limit:  # it may have been lowered since the invitation
        raise Told(
            f"This team is full: a team has at most {rules.team_limit} members.",
            f"队伍已满：每队最多 {rules.team_limit} 人。",
        )
    return [e.MemberJoined(team.id, account, digest)]


def leave(state: State, now: int, team: str, account: str, by: str, reason: str = "") -> list[e.Body]:
    """Whoever has seen results goes with the team that they were made for: else a quota could be had twice, by
    leaving for another team. The last one to leave a team that has not submitted ends it."""
    one = state.team(team)
    if account not in one.members:
        raise Told("That person is no member of this team.", "此人不是该队成员。")
    if account != by:
        _require_captain(state, team, by)
    if _has_submitted(state, team) and not _is_organiser(state, by):
        raise Told(
            "Your team has submitted: its members stay with it. Ask the organiser, who can decide.",
            "队伍已有提交，成员不能自行变动。请联系主办方决定。",
        )
    if account == one.captain and len(one.members) > 1:
        raise Told(
            "The captain cannot leave. Make another member captain first.",
            "队长不能退出队伍。请先把队长移交给另一位成员。",
        )
    return [e.MemberLeft(team, account, clean(reason))]


def change_captain(state: State, now: int, team: str, account: str, by: str) -> list[e.Body]:
    one = _require_captain(state, team, by)
    if account not in one.members:
        raise Told("Only a member can become captain.", "只有队伍成员才能担任队长。")
    _account(state, account)
    return [e.CaptainChanged(team, account)]


def disqualify(state: State, team: str, phase: str, reason: str) -> list[e.Body]:
    state.team(team)
    if phase:
        state.phase(phase)
    if state.out(team, phase):
        raise Told("This team is disqualified already.", "该队已被取消资格。")
    return [e.TeamDisqualified(team, require_reason(reason), phase)]


def reinstate(state: State, team: str, phase: str, reason: str) -> list[e.Body]:
    if not any(out.until is None for out in state.team(team).out.get(phase, [])):
        raise Told("This team is not disqualified there.", "该队在此并未被取消资格。")
    return [e.TeamReinstated(team, require_reason(reason), phase)]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _account(state: State, account: str) -> Account:
    one = state.accounts.get(account)
    if one is None or one.closed:
        raise Told("There is no such account.", "没有这个账号。")
    return one


def _require_free(account: Account) -> None:
    if account.role != "member":
        raise Told(
            f"An account for a {account.role} cannot take part in a team: use one of your own.",
            f"{ROLES[account.role]}账号不能加入队伍：请使用您自己的参赛账号。",
        )
    if account.team:
        raise Told(
            "You are in a team already. Leave it first; one person is in one team.",
            "您已在一支队伍中。每人只能参加一支队伍，请先退出。",
        )


def _require_other_name(state: State, name: str, but: str = "") -> None:
    taken = [team.name for team in state.teams.values() if team.id != but and team.members]
    sent = [whose for of_phase in state.of_team.values() for whose in of_phase]
    baselines = [whose.removeprefix("baseline:") for whose in sent if whose.startswith("baseline:")]
    if folded(name) in map(folded, [*taken, *baselines]):
        raise Told(f"There is a team {name!r} already. Choose another name.", f"队名“{name}”已被使用，请换一个。")


def _require_captain(state: State, team: str, by: str) -> Team:
    one = state.team(team)
    if not (one.captain == by and by in one.members) and not _is_organiser(state, by):
        raise Told("Only the team's captain can do this.", "只有队长才能进行此操作。")
    return one


def _is_organiser(state: State, by: str) -> bool:
    account = state.accounts.get(by)
    return account is not None and account.role == "organiser" and not account.closed


def _has_submitted(state: State, team: str) -> bool:
    return any(team in whose for whose in state.of_team.values())


def _require_registration(rules: Rules, now: int) -> None:
    opens, closes = rules.registration_opens, rules.registration_closes
    if opens is not None and now < opens:
        raise Told(
            f"Registration opens {told(opens, rules.zone, 'en')}.", f"报名将于 {told(opens, rules.zone, 'zh')} 开始。"
        )
    if closes is not None and now >= closes:
        raise Told(
            f"Registration closed {told(closes, rules.zone, 'en')}.",
            f"报名已于 {told(closes, rules.zone, 'zh')} 截止。",
        )
