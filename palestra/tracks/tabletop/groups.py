"""What people call the groups of cases."""

from palestra.text import say

GROUP_TITLES = {
    "pick": say("Pick"),
    "place": say("Place"),
    "stack": say("Stack"),
    "insert": say("Insert"),
    "long": say("Long tasks"),
}
