async def run_checker(*a): raise NotImplementedError
