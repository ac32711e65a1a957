# Functions for GitHub's REST API. Source this file.

# Programs that a script starts do not get the token.
export -n GITHUB_TOKEN

# api METHOD PATH-OR-URL [BODY-FILE]: prints the response. Fails with a warning if the status is not 2xx.
api() {
  local method=$1 path=$2 body=${3:-} url answer status
  case $path in http*) url=$path ;; *) url=${GITHUB_API_URL:-https://api.github.com}$path ;; esac
  answer=$(mktemp)
  local options=(--silent --show-error --retry 3 --max-time 60 --request "$method" --output "$answer" --write-out '%{http_code}')
  if [ -n "$body" ]; then options+=(--header "Content-Type: application/json" --data-binary "@$body"); fi
  # The token is passed on standard input, because other users can see the arguments of processes.
  status=$(curl "${options[@]}" --config - "$url" <<CONFIG
header = "Accept: application/vnd.github+json"
header = "Authorization: Bearer ${GITHUB_TOKEN:-}"
header = "X-GitHub-Api-Version: 2022-11-28"
CONFIG
  ) || status=000
  case $status in
    2??) cat "$answer" ;;
    *)
      echo "::warning title=mcpgen::$method $path: GitHub responded with status $status: $(jq -r '.message? // empty' "$answer" 2>/dev/null)" >&2
      return 1
      ;;
  esac
}
