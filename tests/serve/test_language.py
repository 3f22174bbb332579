#!/usr/bin/env python3
"""What the server says to people is in the language that they ask in, wherever it was made: no English sentence reaches a Chinese page."""
import os
import re

import serving

CHINESE = re.compile("[\u4e00-\u9fff]")


class Language(serving.Case):
    def tables_of(self, s, views, of, rest):
        """Each view with its reply in both languages."""
        for view in views:
            if view["of"] == of:
                address = "/api/view?name=%s%s" % (view["name"], rest)
                yield view["name"], s.get(address), s.get(address + "&lang=zh")

    def asked(self, capture, of, rest, least):
        with serving.Server(capture) as s:
            s.wait_for(["ready"])
            rest = rest.replace("KEY", s.ranks()[0]["key"])
            views = s.get("/api/views").json()["views"]
            n = 0
            for name, english, chinese in self.tables_of(s, views, of, rest):
                self.assertEqual(english.status, chinese.status, name)
                if english.status != 200:
                    n += 1
                    self.assertNotRegex(english.json()["error"], CHINESE, name)
                    self.assertRegex(chinese.json()["error"], CHINESE, name)
            self.assertGreaterEqual(n, least)

    def test_views_that_find_nothing(self):
        self.asked(serving.trace(self.path("rank0.json")), "rank", "&rank=KEY&from=900000000&to=900000001", 10)
        self.asked(serving.trace(self.path("rank1.json")), "cluster", "", 5)

    def test_why_there_is_no_pipeline(self):
        with serving.Server(serving.trace(self.path("rank0.json"))) as s:
            s.wait_for(["ready"])
            self.assertIn("No pipeline in this capture: ", s.get("/api/chart").json()["error"])
            error = s.get("/api/chart?lang=zh").json()["error"]
            self.assertTrue(error.startswith("采集数据中没有流水线：没有信息说明哪些是前向"), error)
            self.assertNotIn("nothing", error)
            self.assertRegex(s.get("/api/mode?name=slow_rank&lang=zh").json()["error"], CHINESE)

    def test_how_a_pipeline_is_known(self):
        with serving.Server(os.path.join(serving.ROOT, "tests", "data", "ndtimeline", "two-by-two.json")) as s:
            s.wait_for(["ready"])
            english = s.get("/api/chart").json()["chart"]["how"]
            chinese = s.get("/api/chart?lang=zh").json()["chart"]["how"]
            self.assertNotRegex(english, CHINESE)
            self.assertEqual(len(english.split("; ")), len(chinese.split("；")), (english, chinese))
            self.assertTrue(all(CHINESE.search(part) for part in chinese.split("；")), chinese)


if __name__ == "__main__":
    serving.main()
